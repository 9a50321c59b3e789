import { describe, expect, it } from 'vitest'
import { effectScope, nextTick, ref, computed } from 'vue'
import { useWatchedLive } from './useWatchedLive'

describe('a run that is shown', () => {
  it('was watched once it was live, also when it has ended, until another is shown', async () => {
    const id = ref<string | undefined>('a')
    const live = ref(false)
    const scope = effectScope()
    const watched = scope.run(() => useWatchedLive({ id: computed(() => id.value), isLive: computed(() => live.value) }))
    expect(watched?.value).toBe(false)
    live.value = true
    await nextTick()
    expect(watched?.value).toBe(true)
    live.value = false
    await nextTick()
    expect(watched?.value).toBe(true)
    id.value = 'b'
    await nextTick()
    expect(watched?.value).toBe(false)
    scope.stop()
  })
})
