/** The seven states of a run, a node or a visit, as the wire names them. */
export const STATUSES = ['PENDING', 'RUNNING', 'SUCCESS', 'FAILED', 'SKIPPED', 'PAUSED', 'CANCELLED'] as const
export type Status = typeof STATUSES[number]

export function isStatus(value: unknown): value is Status {
  return (STATUSES as readonly unknown[]).includes(value)
}

/** Has this run come to its end? */
export function isEnded(status: Status): boolean {
  return status === 'SUCCESS' || status === 'FAILED' || status === 'CANCELLED'
}
