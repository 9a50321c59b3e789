/** What can be done with a workflow in the list, each with the key that does it while its row has the focus. */
import type { IconName } from '@/ui/icons'

export type RowAction = 'run' | 'duplicate' | 'export' | 'delete'

export const ROW_ACTIONS: readonly { action: RowAction, keys: string, icon: IconName }[] = [
  { action: 'run', keys: 'mod+enter', icon: 'play' },
  { action: 'duplicate', keys: 'd', icon: 'duplicate' },
  { action: 'export', keys: 'x', icon: 'download' },
  { action: 'delete', keys: 'backspace', icon: 'trash' },
]
