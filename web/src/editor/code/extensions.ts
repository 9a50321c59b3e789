/** What makes CodeMirror an editor of templates, JSON or Python, in the page's colours and under its content policy. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { python } from '@codemirror/lang-python'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { EditorState, type Extension, type Range } from '@codemirror/state'
import { Decoration, drawSelection, EditorView, keymap, tooltips, ViewPlugin, type DecorationSet, type ViewUpdate } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { cspNonce } from '@/theme/nonce'
import { referencesIn } from '../document/references'
import type { Scope } from '../document/variables'

export type CodeLanguage = 'template' | 'json' | 'python'

const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--fly)' },
  { tag: [tags.string], color: 'var(--success)' },
  { tag: [tags.number], color: 'var(--iter-2)' },
  { tag: [tags.comment], color: 'var(--ink-3)' },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: 'var(--running)' },
]))

const dress = EditorView.theme({
  '&.cm-focused': { outline: 'none' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { background: 'color-mix(in srgb, var(--running) 24%, transparent)' },
  '.cm-tooltip': { border: '1px solid var(--line)', borderRadius: '8px', background: 'var(--surface)', color: 'var(--ink)', boxShadow: 'var(--shadow-3)', overflow: 'hidden' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: '12px/18px var(--mono)', maxHeight: '220px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '4px 10px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--surface-3)', color: 'var(--ink)' },
  '.cm-completionDetail': { font: '12px/18px var(--font)', fontStyle: 'normal', color: 'var(--ink-3)', marginLeft: '10px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
})

/** After `{{`, everything that may be named here. */
function completeReference(scope: () => Scope | undefined) {
  return (context: CompletionContext): CompletionResult | null => {
    const open = context.matchBefore(/\{\{[^{}]*/)
    const known = scope()
    if (!open || !known) return null
    const after = context.state.sliceDoc(context.pos, context.pos + 2)
    const options = known.variables.map((variable): Completion => ({
      label: variable.reference, detail: variable.reference === variable.name ? variable.nodeLabel : `${variable.nodeLabel}${variable.type ? ` · ${variable.type}` : ''}`,
      apply: `${variable.reference}${after.startsWith('}}') ? '' : after.startsWith('}') ? '}' : '}}'}`,
    }))
    const typed = open.text.slice(2)
    return { from: open.from + 2 + (typed.length - typed.trimStart().length), options, validFor: /^[^{}]*$/ }
  }
}

const found = Decoration.mark({ class: 'cm-reference' })
const lost = Decoration.mark({ class: 'cm-reference cm-unresolved' })

/** References as such, and those that name nothing. */
export function templateMarks(scope: Scope): Extension {
  const marks = (view: EditorView): DecorationSet => {
    const ranges: Range<Decoration>[] = referencesIn(view.state.doc.toString()).map(reference =>
      (reference.optional || scope.knows(reference) ? found : lost).range(reference.from, reference.to))
    return Decoration.set(ranges)
  }
  return ViewPlugin.fromClass(class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = marks(view)
    }

    update(update: ViewUpdate) {
      if (update.docChanged) this.decorations = marks(update.view)
    }
  }, { decorations: plugin => plugin.decorations })
}

export function extensionsFor(language: CodeLanguage, scope: () => Scope | undefined): Extension {
  const shared = [cspNonce ? EditorView.cspNonce.of(cspNonce) : [], history(), drawSelection(), dress, tooltips({ position: 'fixed', parent: document.body }), EditorView.lineWrapping, keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap])]
  if (language === 'template') return [autocompletion({ override: [completeReference(scope)], icons: false }), ...shared]
  const code = [bracketMatching(), closeBrackets(), indentOnInput(), colours, EditorState.tabSize.of(language === 'python' ? 4 : 2), keymap.of([...closeBracketsKeymap])]
  return language === 'json' ? [json(), ...code, ...shared] : [python(), ...code, keymap.of([indentWithTab]), ...shared]
}
