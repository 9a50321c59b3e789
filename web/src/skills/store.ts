/** The skill folders, and what can be done with one. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, fileForm, ok } from '@/api/client'
import type { Skill, SkillDetail, SkillVersion } from '@/api/types'

/** What a save is refused with: the text that stands there. */
export type StoredText = Pick<SkillDetail, 'id' | 'source' | 'revision'>

export const useSkills = defineStore('skills', () => {
  const items = shallowRef<Skill[]>()
  const error = shallowRef<unknown>()

  async function load() {
    try {
      items.value = (await ok(api.GET('/api/skills'))).items
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }

  const read = (id: string): Promise<SkillDetail> => ok(api.GET('/api/skills/{skill_id}', { params: { path: { skill_id: id } } }))
  const create = (source: string): Promise<SkillDetail> => ok(api.POST('/api/skills', { body: { source } }))
  /** Refused with a 409 and a `StoredText` as `current` where something else was saved since the text of this revision was read. */
  const save = (id: string, source: string, revision: string): Promise<SkillDetail> => ok(api.PUT('/api/skills/{skill_id}', { params: { path: { skill_id: id } }, body: { source, revision } }))
  const upload = (file: File): Promise<SkillDetail> => ok(api.POST('/api/skills/upload', { body: fileForm(file) as never, bodySerializer: form => form }))

  const versions = async (id: string): Promise<SkillVersion[]> => (await ok(api.GET('/api/skills/{skill_id}/versions', { params: { path: { skill_id: id } } }))).items
  const version = (id: string, hash: string): Promise<SkillDetail> => ok(api.GET('/api/skills/{skill_id}/versions/{version}', { params: { path: { skill_id: id, version: hash } } }))
  const restore = (id: string, hash: string): Promise<SkillDetail> => ok(api.POST('/api/skills/{skill_id}/versions/{version}/restore', { params: { path: { skill_id: id, version: hash } } }))

  async function remove(id: string) {
    await ok(api.DELETE('/api/skills/{skill_id}', { params: { path: { skill_id: id } } }))
    items.value = items.value?.filter(skill => skill.id !== id)
  }

  return { items, error, load, read, create, save, upload, versions, version, restore, remove }
})
