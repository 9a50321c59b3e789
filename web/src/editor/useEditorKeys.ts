/** The editor's commands, for keys, command bar and sheet of shortcuts. Held back where a field takes the typing. */
import { computed, onScopeDispose, ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { useCommands, type Command } from '@/shell/commands'
import { takesTyping } from '@/shell/keyboard'
import { iconOf, inLanguage } from '@/canvas/nodeText'
import { labelOf } from './document/document'
import { useNodeTypes } from './nodeTypes'
import { useGraph } from './store'

export interface EditorDeeds {
  add: () => void
  remove: () => void
  duplicate: () => void
  selectAll: () => void
  connect: () => void
  layout: () => void
  fit: () => void
  fitSelection: () => void
  find: (replacing: boolean) => void
  outline: () => void
  closePanel: () => void
  back: () => void
  nudge: (dx: number, dy: number) => void
  restorePoint: () => void
  publish: () => void
  run: () => void
  test: () => void
  /** Whether there is a node to test whose test is not open already. */
  canTest: () => boolean
  details: () => void
  versions: () => void
  problems: () => void
  showNode: (nodeId: string) => void
  exportFile: () => void
}

export function useEditorKeys(deeds: EditorDeeds) {
  const { t, locale } = useI18n()
  const graph = useGraph()
  const types = useNodeTypes()
  const typing = ref(false)
  const watchFocus = () => { typing.value = takesTyping(document.activeElement) }
  addEventListener('focusin', watchFocus)
  addEventListener('focusout', watchFocus)
  onScopeDispose(() => {
    removeEventListener('focusin', watchFocus)
    removeEventListener('focusout', watchFocus)
  })

  const canvas = computed<Command[]>(() => {
    const group = t('editor.command.canvas')
    const chosen = graph.selectedNodes.length > 0
    const held = typing.value
    const nudges = ([['arrowleft', -1, 0], ['arrowright', 1, 0], ['arrowup', 0, -1], ['arrowdown', 0, 1]] as const).flatMap(([key, x, y]): Command[] => [
      { id: `editor.nudge.${key}`, label: t('editor.command.nudge'), keys: `alt+${key}`, group, keyOnly: true, disabled: held || !chosen, run: () => { deeds.nudge(20 * x, 20 * y) } },
      { id: `editor.nudge.small.${key}`, label: t('editor.command.nudgeSmall'), keys: `alt+shift+${key}`, group, keyOnly: true, disabled: held || !chosen, run: () => { deeds.nudge(x, y) } },
    ])
    return [
      { id: 'editor.add', label: t('editor.tool.add'), keys: 'n', icon: 'plus', group, run: deeds.add },
      { id: 'editor.connect', label: t('editor.command.connect'), keys: 'e', icon: 'link', group, disabled: graph.selectedNodes.length !== 1, run: deeds.connect },
      { id: 'editor.undo', label: t('editor.tool.undo'), keys: 'mod+z', icon: 'undo', group, disabled: held || !graph.undoLabel, run: graph.undo },
      { id: 'editor.redo', label: t('editor.tool.redo'), keys: 'shift+mod+z|mod+y', icon: 'redo', group, disabled: held || !graph.redoLabel, run: graph.redo },
      // Copying is the browser's own event, which works between tabs; the keys stand here to be found.
      { id: 'editor.copy', label: t('editor.command.copy'), keys: 'mod+c', group, keyOnly: true, disabled: true, run: () => undefined },
      { id: 'editor.cut', label: t('editor.command.cut'), keys: 'mod+x', group, keyOnly: true, disabled: true, run: () => undefined },
      { id: 'editor.paste', label: t('editor.command.paste'), keys: 'mod+v', group, keyOnly: true, disabled: true, run: () => undefined },
      { id: 'editor.duplicate', label: t('editor.tool.duplicate'), keys: 'mod+d', icon: 'duplicate', group, disabled: held || !chosen, run: deeds.duplicate },
      { id: 'editor.delete', label: t('editor.tool.delete'), keys: 'backspace|delete', icon: 'trash', group, disabled: held || (!chosen && graph.selectedEdges.length === 0), run: deeds.remove },
      { id: 'editor.all', label: t('editor.command.all'), keys: 'mod+a', group, disabled: held, run: deeds.selectAll },
      ...nudges,
      { id: 'editor.layout', label: t('editor.tool.layout'), keys: 'l', icon: 'layout', group, run: deeds.layout },
      { id: 'editor.fit', label: t('editor.tool.fit'), keys: 'shift+1', icon: 'fit', group, run: deeds.fit },
      { id: 'editor.fitSelection', label: t('editor.command.fitSelection'), keys: 'shift+2', group, disabled: !chosen, run: deeds.fitSelection },
      { id: 'editor.find', label: t('editor.tool.find'), keys: 'mod+f', icon: 'search', group, run: () => { deeds.find(false) } },
      { id: 'editor.replace', label: t('editor.command.replace'), keys: 'alt+mod+f', icon: 'search', group, run: () => { deeds.find(true) } },
      { id: 'editor.outline', label: t('editor.tool.outline'), keys: 'o', icon: 'outline', group, run: deeds.outline },
      { id: 'editor.panel', label: t('editor.command.panel'), keys: ']', group, run: deeds.closePanel },
      { id: 'editor.back', label: t('editor.command.back'), keys: 'escape', group, keyOnly: true, run: deeds.back },
    ]
  })
  const workflow = computed<Command[]>(() => {
    const group = t('editor.command.workflow')
    return [
      { id: 'editor.run', label: t('editor.top.run'), keys: 'mod+enter', icon: 'play', group, run: deeds.run },
      ...(deeds.canTest() ? [{ id: 'editor.test', label: t('editor.test.open'), keys: 'shift+mod+enter', icon: 'play' as const, group, run: deeds.test }] : []),
      { id: 'editor.save', label: t('editor.command.restorePoint'), keys: 'mod+s', icon: 'history', group, run: deeds.restorePoint },
      { id: 'editor.details', label: t('editor.top.details'), icon: 'info', group, run: deeds.details },
      { id: 'editor.problems', label: t('editor.command.problems'), icon: 'warning', group, run: deeds.problems },
      { id: 'editor.versions', label: t('editor.top.versions'), icon: 'history', group, run: deeds.versions },
      { id: 'editor.publish', label: t('editor.top.publish'), icon: 'upload', group, run: deeds.publish },
      { id: 'editor.export', label: t('editor.command.export'), icon: 'download', group, run: deeds.exportFile },
    ]
  })
  const nodes = computed<Command[]>(() => graph.nodes.map((node) => {
    const type = types.byType.get(node.type)
    return { id: `node.${node.id}`, label: labelOf(node), icon: iconOf(type), group: type ? inLanguage(type.title, locale.value) : node.type, run: () => { deeds.showNode(node.id) } }
  }))
  useCommands(canvas)
  useCommands(workflow)
  useCommands(nodes)
  return { typing }
}
