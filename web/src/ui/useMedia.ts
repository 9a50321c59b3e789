/** Whether a media query holds, as a ref that follows it. */
import { onScopeDispose, readonly, ref } from 'vue'

export function useMedia(query: string) {
  const media = matchMedia(query)
  const holds = ref(media.matches)
  const follow = () => { holds.value = media.matches }
  media.addEventListener('change', follow)
  onScopeDispose(() => { media.removeEventListener('change', follow) })
  return readonly(holds)
}
