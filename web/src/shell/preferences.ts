/**
 * What this browser remembers of its person's taste: theme, language, single-letter keys, dismissed hints.
 *
 * Kept under one key, which `public/first-paint.js` reads too, so that the first paint is right.
 */
import { defineStore } from 'pinia'
import { computed, reactive, watch, watchEffect } from 'vue'
import { setLanguage } from '@/locales'
import type { Theme } from '@/theme/tokens'
import type { Language } from '@/ui/format'
import { readStored, store } from './stored'

const KEY = 'flyback.preferences'

interface Preferences {
  theme: Theme | 'system'
  language: Language | 'system'
  singleKeys: boolean
  /** Ids of hints, strips and explanations that were closed. */
  closed: string[]
}

const FIRST: Preferences = { theme: 'system', language: 'system', singleKeys: true, closed: [] }

export const usePreferences = defineStore('preferences', () => {
  const chosen = reactive<Preferences>({ ...FIRST, ...readStored<Partial<Preferences>>(KEY) })
  const system = reactive({ dark: false })

  const media = matchMedia('(prefers-color-scheme: dark)')
  system.dark = media.matches
  media.addEventListener('change', (event) => { system.dark = event.matches })

  const theme = computed<Theme>(() => (chosen.theme === 'system' ? (system.dark ? 'dark' : 'light') : chosen.theme))
  const language = computed<Language>(() => (chosen.language === 'system' ? (/^zh/i.test(navigator.language) ? 'zh-CN' : 'en') : chosen.language))

  watch(chosen, () => { store(KEY, chosen) })
  watchEffect(() => { document.documentElement.dataset['theme'] = theme.value })

  const isClosed = (id: string) => chosen.closed.includes(id)
  function close(id: string) {
    if (!isClosed(id)) chosen.closed.push(id)
  }
  function reopen(id: string) {
    chosen.closed = chosen.closed.filter(other => other !== id)
  }

  /** Loads the words of the chosen language; the first call before the page is shown. */
  const showLanguage = () => setLanguage(language.value)
  watch(language, () => { void showLanguage() })

  return { chosen, theme, language, isClosed, close, reopen, showLanguage }
})
