/** What the server said, in the language of the page: English as it came, in Chinese by the catalog of its sentences. */
import { serverWords } from '@/locales'

/** Returns a function for templates and computed values; a language that is chosen later is followed. */
export function useServerText() {
  return (text: string | null | undefined): string => (text ? serverWords.value(text) : '')
}
