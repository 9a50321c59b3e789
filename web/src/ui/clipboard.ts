/**
 * Copies text. A page that is opened over plain http from another machine has no `navigator.clipboard`,
 * so the old command is the second way. Answers whether it worked.
 */
export async function copyText(text: string): Promise<boolean> {
  // The type says it is always there; on plain http it is not.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard) {
    try {
      await clipboard.writeText(text)
      return true
    } catch {
      return copyBySelection(text)
    }
  }
  return copyBySelection(text)
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.style.position = 'fixed'
  field.style.opacity = '0'
  const focused = document.activeElement
  const host = focused?.closest('dialog') ?? document.body
  host.append(field)
  field.select()
  const copied = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return copied
}
