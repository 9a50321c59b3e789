/** The model entries, and what can be done with one. Keys go to the server and never come back. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, ok } from '@/api/client'
import type { EmbeddedModel, Model, ModelGiven, ModelTest } from '@/api/types'

export const useModels = defineStore('models', () => {
  const items = shallowRef<Model[]>()
  /** The file of the model inside: whether it is here, and how far fetching it is. */
  const embedded = shallowRef<EmbeddedModel>()
  const error = shallowRef<unknown>()

  async function load() {
    try {
      const [list, inside] = await Promise.all([ok(api.GET('/api/models')), ok(api.GET('/api/models/embedded'))])
      items.value = list.items
      embedded.value = inside
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }

  async function save(id: string | undefined, body: ModelGiven) {
    const saved = id === undefined
      ? await ok(api.POST('/api/models', { body }))
      : await ok(api.PUT('/api/models/{model_id}', { params: { path: { model_id: id } }, body }))
    await load()
    return saved
  }

  async function makeDefault(id: string) {
    await ok(api.POST('/api/models/{model_id}/default', { params: { path: { model_id: id } } }))
    await load()
  }

  async function remove(id: string) {
    await ok(api.DELETE('/api/models/{model_id}', { params: { path: { model_id: id } } }))
    await load()
  }

  function test(id: string): Promise<ModelTest> {
    return ok(api.POST('/api/models/{model_id}/test', { params: { path: { model_id: id } } }))
  }

  async function fetchEmbedded() {
    embedded.value = await ok(api.POST('/api/models/embedded/pull'))
  }

  return { items, embedded, error, load, save, makeDefault, remove, test, fetchEmbedded }
})
