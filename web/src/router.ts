/**
 * Every address of the page. Pages are lazy; a page's folder is its feature's.
 *
 * `meta.place` is the entry of the main navigation that is lit. The tab's title is that of the page (`AppPage`).
 */
import { createRouter, createWebHistory, type RouteRecordRaw, type Router } from 'vue-router'
import { whenUnauthenticated } from './api/client'
import AppShell from './shell/AppShell.vue'
import { useSession } from './shell/session'
import { untilLoaded } from './ui/lazyPart'

const page = <T>(load: () => Promise<T>) => () => untilLoaded(load)

const pages: RouteRecordRaw[] = [
  { path: '/workflows', name: 'workflows', component: page(() => import('./workflows/WorkflowsPage.vue')), meta: { place: 'workflows' } },
  { path: '/workflows/:id', name: 'editor', props: true, component: page(() => import('./editor/EditorPage.vue')), meta: { place: 'workflows' } },
  { path: '/workflows/:id/versions', name: 'versions', props: true, component: page(() => import('./editor/VersionsPage.vue')), meta: { place: 'workflows' } },
  { path: '/workflows/:id/versions/:a/diff/:b', name: 'versionDiff', props: true, component: page(() => import('./editor/VersionDiffPage.vue')), meta: { place: 'workflows' } },
  { path: '/workflows/:id/runs', name: 'workflowRuns', props: true, component: page(() => import('./runs/RunsPage.vue')), meta: { place: 'runs' } },
  { path: '/runs', name: 'runs', component: page(() => import('./runs/RunsPage.vue')), meta: { place: 'runs' } },
  { path: '/runs/compare', name: 'compare', component: page(() => import('./runs/ComparePage.vue')), meta: { place: 'runs' } },
  { path: '/runs/:runId', name: 'run', props: true, component: page(() => import('./runs/RunPage.vue')), meta: { place: 'runs' } },
  { path: '/inbox', name: 'inbox', component: page(() => import('./inbox/InboxPage.vue')), meta: { place: 'inbox' } },
  { path: '/inbox/:pauseId', name: 'pause', props: true, component: page(() => import('./inbox/InboxPage.vue')), meta: { place: 'inbox' } },
  { path: '/models', name: 'models', component: page(() => import('./models/ModelsPage.vue')), meta: { place: 'models' } },
  { path: '/skills', name: 'skills', component: page(() => import('./skills/SkillsPage.vue')), meta: { place: 'skills' } },
  { path: '/skills/:id', name: 'skill', props: true, component: page(() => import('./skills/SkillPage.vue')), meta: { place: 'skills' } },
  { path: '/mcp-servers', name: 'mcp', component: page(() => import('./mcp/McpPage.vue')), meta: { place: 'settings' } },
  { path: '/settings', name: 'settings', component: page(() => import('./settings/SettingsPage.vue')), meta: { place: 'settings' } },
]

const routes: RouteRecordRaw[] = [
  { path: '/sign-in', name: 'signIn', component: page(() => import('./signin/SignInPage.vue')), meta: { open: true } },
  {
    path: '/', component: AppShell, children: [
      { path: '', redirect: '/workflows' },
      ...pages,
      { path: ':rest(.*)*', name: 'notFound', component: page(() => import('./shell/NotFoundPage.vue')) },
    ],
  },
]

export function createAppRouter(): Router {
  const router = createRouter({
    history: createWebHistory(),
    routes,
    scrollBehavior: (_to, _from, saved) => saved ?? false,
  })
  const signIn = (next: string) => ({ name: 'signIn', query: next === '/' ? {} : { next } })

  router.beforeEach(async (to) => {
    if (to.meta['open'] === true) return true
    try {
      return await useSession().isSignedIn() || signIn(to.fullPath)
    } catch {
      // No answer: the page itself says so, and offers to try again.
      return true
    }
  })
  whenUnauthenticated(() => {
    useSession().forget()
    void router.push(signIn(router.currentRoute.value.fullPath))
  })
  return router
}
