/** A plain field stands in for the code editor until it is here. Whoever was typing in it goes on typing in the editor. */
let left: { title: string, caret: number } | undefined

export function handOver(title: string, field: HTMLTextAreaElement | null) {
  if (field && document.activeElement === field) left = { title, caret: field.selectionEnd }
}

/** Where the caret stood in the plain field of this title, if it had the focus when it left. */
export function takeOver(title: string): number | undefined {
  if (left?.title !== title) return undefined
  const { caret } = left
  left = undefined
  return caret
}
