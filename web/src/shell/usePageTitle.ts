/** The tab's title: how many questions wait, what this is, the product's name. */
import { readonly, shallowRef, toValue, watchEffect, type MaybeRefOrGetter } from 'vue'
import { useWaiting } from './waiting'

const spoken = shallowRef('')
/** The name of the page, to be read aloud when it changes: a page that is swapped in place says nothing by itself. */
export const spokenTitle = readonly(spoken)

export function usePageTitle(title: MaybeRefOrGetter<string | undefined>) {
  const waiting = useWaiting()
  watchEffect(() => {
    const count = waiting.count > 0 ? `(${waiting.count}) ` : ''
    const name = toValue(title)
    spoken.value = name ?? ''
    document.title = `${count}${name ? `${name} · ` : ''}Flyback`
  })
}
