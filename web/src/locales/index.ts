/**
 * The words of the page. `<language>/<feature>.json` holds a feature's texts; `feature.thing.aspect` names one.
 *
 * A language is one chunk, Naive UI's own words included, loaded when it is wanted; adding a feature
 * file needs no change here.
 */
import type { NDateLocale, NLocale } from 'naive-ui'
import { shallowRef } from 'vue'
import { createI18n } from 'vue-i18n'
import type { Language } from '@/ui/format'

export const LANGUAGES = ['en', 'zh-CN'] as const satisfies readonly Language[]

export const i18n = createI18n({ legacy: false, locale: 'en', fallbackLocale: false, messages: {} })

/** Naive UI's words in the language of the page. */
export const naiveWords = shallowRef<{ locale: NLocale, dates: NDateLocale }>()

const asItCame = (text: string) => text

/** Turns what the server said, which is English, into the language of the page. */
export const serverWords = shallowRef<(text: string) => string>(asItCame)

const loaders = { 'en': () => import('./en'), 'zh-CN': () => import('./zh-CN') }

/** Loads a language, if it is not there yet, and makes it the page's. */
export async function setLanguage(language: Language): Promise<void> {
  const { messages, naive, naiveDates } = await loaders[language]()
  i18n.global.setLocaleMessage(language, messages)
  i18n.global.locale.value = language
  naiveWords.value = { locale: naive, dates: naiveDates }
  document.documentElement.lang = language
  void showServerWords(language)
}

/** The sentences of the server are many and are not needed for the first paint: they come a moment later. */
async function showServerWords(language: Language): Promise<void> {
  if (language === 'en') {
    serverWords.value = asItCame
    return
  }
  const { translate } = await import('./server/zh-CN')
  if (i18n.global.locale.value === language) serverWords.value = translate
}
