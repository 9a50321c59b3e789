/**
 * What the command bar offers for a text: commands of this page, workflows, runs.
 *
 * A page adds things of its own (the editor its nodes) as commands whose id begins with `node.`.
 * What was chosen lately stands first. Runs are asked from the server, 150 ms after the last key; an older answer never replaces a newer one.
 */
import { computed, onScopeDispose, shallowRef, watch, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRouter, type RouteLocationRaw } from 'vue-router'
import { api, ok } from '@/api/client'
import type { Run } from '@/api/types'
import type { IconName } from '@/ui/icons'
import { useWorkflows } from '@/workflows/store'
import type { Command, useCommandStore } from './commands'
import { best, recentFirst } from './search'
import { readStored, store as keep } from './stored'

export { marked } from './search'

export interface BarEntry { id: string, label: string, note?: string, icon?: IconName, keys?: string, href?: string, run: () => unknown }

const RECENT = 'flyback.recent'
const REMEMBERED = 20

/** Remembers what was chosen, so that it stands first the next time. */
export function remember(id: string): void {
  keep(RECENT, [id, ...(readStored<string[]>(RECENT) ?? []).filter(other => other !== id)].slice(0, REMEMBERED))
}

const isNode = (command: Command) => command.id.startsWith('node.')

export function useBarEntries(text: Ref<string>, store: ReturnType<typeof useCommandStore>) {
  const { t } = useI18n()
  const router = useRouter()
  const workflows = useWorkflows()
  const runs = shallowRef<Run[]>([])
  const searching = shallowRef(false)
  const recent = readStored<string[]>(RECENT) ?? []
  let timer: ReturnType<typeof setTimeout> | undefined
  let abort: AbortController | undefined

  const kind = computed(() => ('>@#'.includes(text.value.charAt(0)) ? text.value.charAt(0) : ''))
  const query = computed(() => text.value.slice(kind.value.length).trim())

  async function ask() {
    abort?.abort()
    abort = new AbortController()
    const { signal } = abort
    searching.value = true
    try {
      runs.value = (await ok(api.GET('/api/runs', { params: { query: { q: query.value, limit: 6 } }, signal }))).items
    } catch {
      // The bar still leads to everything that needs no server.
      if (!signal.aborted) runs.value = []
    }
    if (!signal.aborted) searching.value = false
  }

  if (!workflows.items) void workflows.load()
  watch(query, () => {
    clearTimeout(timer)
    timer = setTimeout(() => { void ask() }, 150)
  }, { immediate: true })
  onScopeDispose(() => {
    clearTimeout(timer)
    abort?.abort()
  })

  function link(id: string, label: string, to: RouteLocationRaw, more: Partial<BarEntry>): BarEntry {
    return { id, label, href: router.resolve(to).href, run: () => router.push(to), ...more }
  }
  const fromCommand = (command: Command): BarEntry => ({ id: command.id, label: command.label, run: command.run, ...(command.icon && { icon: command.icon }), ...(command.keys && { keys: command.keys }) })
  const commands = (wanted: (command: Command) => boolean, limit: number) =>
    best(recentFirst(store.commands.filter(command => !command.keyOnly && !command.disabled && wanted(command)), recent, command => command.id), query.value, command => command.label, limit).map(fromCommand)

  const groups = computed(() => [
    { title: t('shell.bar.nodes'), shown: '@', entries: () => commands(isNode, 8) },
    { title: t('shell.bar.commands'), shown: '>', entries: () => commands(command => !isNode(command), kind.value === '>' ? 50 : 7) },
    { title: t('shell.nav.workflows'), shown: '', entries: () => best(recentFirst(workflows.items ?? [], recent, each => `workflow.${each.id}`), query.value, each => each.name, 6).map(each => link(`workflow.${each.id}`, each.name, { name: 'editor', params: { id: each.id } }, { icon: 'workflows', note: each.mode })) },
    { title: t('shell.nav.runs'), shown: '#', entries: () => runs.value.map(each => link(`run.${each.runId}`, `${each.runId.slice(0, 8)} · ${each.workflowName}`, { name: 'run', params: { runId: each.runId } }, { icon: 'runs', note: t(`ui.status.${each.status}`) })) },
  ].filter(group => kind.value === '' || group.shown === kind.value)
    .map(({ title, entries }) => ({ title, entries: entries() }))
    .filter(group => group.entries.length > 0))

  return { groups, searching }
}
