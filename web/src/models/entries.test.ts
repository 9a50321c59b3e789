import { describe, expect, it } from 'vitest'
import type { Model } from '@/api/types'
import { bodyOf, downloadPercent, formOf } from './entries'

const model = { id: 'm', name: 'glm', provider: 'openai-compatible', baseUrl: 'https://x/v1', model: 'glm-4', hasKey: true, prices: { inputPerMillion: 0.7, outputPerMillion: 1, currency: 'CNY' }, fallbacks: ['embedded'], isDefault: false, script: null } as Model

describe('a model entry', () => {
  it('is sent without a key when none was typed, so that the stored one stays', () => {
    expect(bodyOf(formOf(model))).toEqual({ name: 'glm', provider: 'openai-compatible', baseUrl: 'https://x/v1', model: 'glm-4', prices: { inputPerMillion: 0.7, outputPerMillion: 1, currency: 'CNY' }, fallbacks: ['embedded'], isDefault: false, script: null })
    expect(bodyOf({ ...formOf(model), apiKey: ' sk-1 ' })).toMatchObject({ apiKey: 'sk-1' })
    expect(bodyOf({ ...formOf(model), removesKey: true })).toMatchObject({ apiKey: '' })
  })
  it('has no prices when none were typed', () => {
    expect(bodyOf(formOf())).toMatchObject({ prices: null, baseUrl: null })
  })
})

describe('the download of the embedded model', () => {
  it.each([[0, 0, 0], [50, 200, 25], [200, 200, 99]])('of %i of %i bytes is at %i percent until it was checked', (fetchedBytes, sizeBytes, percent) => {
    expect(downloadPercent({ state: 'fetching', fetchedBytes, sizeBytes })).toBe(percent)
  })
  it('is at 100 when it is there', () => {
    expect(downloadPercent({ state: 'ready', fetchedBytes: 1, sizeBytes: 1 })).toBe(100)
  })
})
