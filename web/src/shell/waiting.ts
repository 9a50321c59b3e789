/** How many open questions wait for a person, over all runs: the number at the inbox and in the tab's title. */
import { defineStore } from 'pinia'
import { ref } from 'vue'
import { api, ok } from '@/api/client'

export const useWaiting = defineStore('waiting', () => {
  const count = ref(0)

  async function refresh() {
    const page = await ok(api.GET('/api/pauses', { params: { query: { status: 'open' } } }))
    count.value = page.total
  }
  return { count, refresh }
})
