/**
 * A text that a person types and the address keeps as `?<key>=…`.
 *
 * What is typed stands at once: the address follows only when its guards let it, and until then a page that is drawn anew
 * would put the old text back. A text that comes by the address (back, a link) takes the place of what was typed.
 */
import { ref, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'

export function useTextInAddress(key: string) {
  const address = useRoute()
  const router = useRouter()
  const named = () => {
    const value = address.query[key]
    return typeof value === 'string' ? value : ''
  }
  const text = ref(named())
  watch(text, (typed) => { if (typed !== named()) void router.replace({ query: { ...address.query, [key]: typed || undefined } }) }, { flush: 'sync' })
  watch(named, (next) => { text.value = next })
  return text
}
