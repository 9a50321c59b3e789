/** How a call that waits to be allowed is shown: by its kind. Its name is a tool's own, and may be `http` or `code` too. Pure. */
import type { Question } from '@/api/types'
import type { IconName } from '@/ui/icons'

export interface CallLook {
  readonly icon: IconName
  /** What a step does itself; none of a tool's call, which has a name. */
  readonly does?: 'http' | 'code'
  readonly from: 'server' | 'own' | 'step'
}

export function lookOf({ callKind, server }: Question): CallLook {
  switch (callKind) {
    case 'http': return { icon: 'globe', does: 'http', from: 'step' }
    case 'code': return { icon: 'code', does: 'code', from: 'step' }
    default: return { icon: 'tool', from: server ? 'server' : 'own' }
  }
}
