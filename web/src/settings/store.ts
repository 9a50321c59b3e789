/** The server's settings: the default model, and limits that are shown. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, ok } from '@/api/client'
import type { Settings, SettingsGiven } from '@/api/types'

export const useSettings = defineStore('settings', () => {
  const settings = shallowRef<Settings>()
  const error = shallowRef<unknown>()

  /** Rises with every call: an answer that a later call has overtaken is not taken. */
  let turn = 0

  async function load() {
    const own = turn += 1
    try {
      const stored = await ok(api.GET('/api/settings'))
      if (own === turn) settings.value = stored
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }

  async function save(change: SettingsGiven) {
    const own = turn += 1
    const stored = await ok(api.PUT('/api/settings', { body: change }))
    if (own === turn) settings.value = stored
  }

  return { settings, error, load, save }
})
