// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope } from 'vue'
import { usePolling } from './usePolling'

function hide(hidden: boolean) {
  Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
  document.dispatchEvent(new Event('visibilitychange'))
}

describe('polling', () => {
  beforeEach(() => { vi.useFakeTimers() })
  afterEach(() => {
    hide(false)
    vi.useRealTimers()
  })

  it('calls at once, and again after the answer and the pause', async () => {
    const call = vi.fn(() => Promise.resolve())
    const scope = effectScope()
    scope.run(() => usePolling(call, 2000))
    expect(call).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(2000)
    expect(call).toHaveBeenCalledTimes(2)
    scope.stop()
    await vi.advanceTimersByTimeAsync(9000)
    expect(call).toHaveBeenCalledTimes(2)
  })
  it('never has two calls under way', async () => {
    const call = vi.fn(() => new Promise<void>(() => undefined))
    const scope = effectScope()
    scope.run(() => usePolling(call, 1000))
    await vi.advanceTimersByTimeAsync(5000)
    hide(false)
    expect(call).toHaveBeenCalledTimes(1)
    scope.stop()
  })
  it('rests while the page is hidden and goes on when it is seen', async () => {
    const call = vi.fn(() => Promise.resolve())
    const scope = effectScope()
    scope.run(() => usePolling(call, 1000))
    await vi.advanceTimersByTimeAsync(0)
    hide(true)
    await vi.advanceTimersByTimeAsync(8000)
    expect(call).toHaveBeenCalledTimes(1)
    hide(false)
    expect(call).toHaveBeenCalledTimes(2)
    scope.stop()
  })
})
