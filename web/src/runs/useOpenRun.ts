/** Shows another run in the place of this one: on the run page its page, beside a canvas there. */
import { useRoute, useRouter } from 'vue-router'
import { without } from './model/without'

export function useOpenRun() {
  const address = useRoute()
  const router = useRouter()
  return (runId: string) => (address.name === 'run'
    ? router.push({ name: 'run', params: { runId } })
    : router.push({ query: { ...without(address.query, 'visit'), run: runId, panel: 'visits' } }))
}
