/** The keys and commands of a run that is shown: visits, fly-backs, details, cancel. */
import { computed } from 'vue'
import { useI18n } from 'vue-i18n'
import { useCommands } from '@/shell/commands'
import type { ShownRun, Unfolded } from './useShownRun'

export function useRunCommands(run: ShownRun) {
  const { t } = useI18n()

  const place = () => (run.selected.value === undefined ? undefined : run.numbers.value.get(run.selected.value))
  function move(by: 1 | -1) {
    const count = run.steps.value.length
    if (count === 0) return
    const at = place() ?? (by === 1 ? 0 : count + 1)
    run.selectStop(Math.min(count, Math.max(1, at + by)))
  }
  function moveToFlyBack(by: 1 | -1) {
    const at = place() ?? (by === 1 ? 0 : run.steps.value.length + 1)
    const found = run.steps.value.map((step, index) => ({ step, n: index + 1 })).filter(({ step, n }) => step.isFlyBack && (by === 1 ? n > at : n < at))
    const next = by === 1 ? found[0] : found.at(-1)
    if (next) run.selectStop(next.n)
  }
  function unfold(what: Unfolded) {
    if (run.selected.value !== undefined) run.toggle(run.selected.value, what)
  }
  useCommands(computed(() => {
    if (run.id.value === undefined) return []
    const group = t('runs.command.group')
    const key = (id: string, keys: string, act: () => unknown) => ({ id: `run.${id}`, label: t(`runs.command.${id}`), keys, group, run: act, keyOnly: true })
    return [
      key('next', 'j', () => { move(1) }), key('previous', 'k', () => { move(-1) }),
      key('flyBack', 'f', () => { moveToFlyBack(1) }), key('flyBackBefore', 'shift+f', () => { moveToFlyBack(-1) }),
      key('workspace', 'w', () => { unfold('workspace') }), key('decision', 'd', () => { unfold('decision') }), key('prompt', 'p', () => { unfold('prompt') }),
      ...(run.isEnded.value ? [] : [{ ...key('cancel', 'mod+.', () => { run.asksCancel.value = true }), keyOnly: false, icon: 'stop' as const }]),
    ]
  }))
}
