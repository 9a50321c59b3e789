/**
 * What can be done here and now: one registry for the command bar, the sheet of shortcuts and the keyboard.
 *
 * A component names its commands while it is on the page; of two with the same keys the one that came
 * later (the nearer one) wins.
 */
import { defineStore } from 'pinia'
import { computed, onScopeDispose, shallowReactive, toValue, type MaybeRefOrGetter } from 'vue'
import type { IconName } from '@/ui/icons'

export interface Command {
  id: string
  label: string
  /** As in `ui/keys.ts`: `mod+k`, `g w`, `?`. Several ways to play one command are separated by `|`. */
  keys?: string
  icon?: IconName
  /** Heading in the sheet of shortcuts and the bar, in the page's language. */
  group: string
  run: () => unknown
  /** Left out of the bar: a key that makes sense only in place (arrows, Escape). */
  keyOnly?: boolean
  /** Shown, but not to be played now. */
  disabled?: boolean
}

export const useCommandStore = defineStore('commands', () => {
  const sources = shallowReactive(new Map<symbol, MaybeRefOrGetter<Command[]>>())
  const commands = computed(() => [...sources.values()].flatMap(source => toValue(source)))
  return { sources, commands }
})

/** Adds commands for as long as this component lives. */
export function useCommands(commands: MaybeRefOrGetter<Command[]>): void {
  const { sources } = useCommandStore()
  const id = Symbol('commands')
  sources.set(id, commands)
  onScopeDispose(() => { sources.delete(id) })
}
