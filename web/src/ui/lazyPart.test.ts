// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { fetchLateParts, lateParts, untilLoaded } from './lazyPart'

describe('a part of the page', () => {
  it('is fetched again, when the person asks and when the network is back, until it is here', async () => {
    let calls = 0
    const part = untilLoaded(() => {
      calls += 1
      return calls < 3 ? Promise.reject(new Error('away')) : Promise.resolve('here')
    })
    await Promise.resolve()
    await Promise.resolve()
    expect(lateParts.value.size).toBe(1)
    fetchLateParts()
    expect(lateParts.value.size).toBe(0)
    await new Promise<void>((resolve) => { setTimeout(resolve) })
    expect(lateParts.value.size).toBe(1)
    dispatchEvent(new Event('online'))
    await expect(part).resolves.toBe('here')
    expect(calls).toBe(3)
    expect(lateParts.value.size).toBe(0)
  })
})
