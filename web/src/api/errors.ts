/**
 * A call that failed, as the server's problem document says it (RFC 9457 with `code` and `errors`).
 *
 * Codes of our own, beside the server's: `NETWORK` (no answer came) and `UNREADABLE` (an answer that is no problem document).
 */
import { tryJson } from './json'

export interface Fault { node?: string | null, field?: string | null, message: string, fix?: string | null }

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly faults: readonly Fault[]
  /** The whole answer, for what a code adds (`current` of a 409, `answered` …). */
  readonly problem: Readonly<Record<string, unknown>>
  /** `PUT /api/workflows/1`, for the details that a person may copy. */
  readonly call: string

  constructor(status: number, code: string, message: string, more: { faults?: readonly Fault[], problem?: Record<string, unknown>, call?: string } = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.faults = more.faults ?? []
    this.problem = more.problem ?? {}
    this.call = more.call ?? ''
  }

  /** The fault of one field, by the end of its path: `faultOf('baseUrl')`. */
  faultOf(field: string): string | undefined {
    return this.faults.find(fault => fault.field === field || fault.field?.endsWith(`.${field}`))?.message
  }

  get details(): string {
    const head = [this.call, this.status > 0 ? String(this.status) : '', this.code].filter(Boolean).join(' ')
    return [head, this.message, ...this.faults.map(fault => [fault.node, fault.field, fault.message, fault.fix].filter(Boolean).join(' · '))].join('\n')
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

function faultsOf(value: unknown): Fault[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).map(({ node, field, message, fix }) => ({
    node: typeof node === 'string' ? node : null,
    field: typeof field === 'string' ? field : null,
    message: typeof message === 'string' ? message : '',
    fix: typeof fix === 'string' ? fix : null,
  }))
}

/** Reads an answer that is not 2xx. */
export async function readProblem(response: Response, call = ''): Promise<ApiError> {
  const problem = tryJson(await response.clone().text().catch(() => ''))?.value
  if (!isRecord(problem) || typeof problem['code'] !== 'string') {
    return new ApiError(response.status, 'UNREADABLE', `HTTP ${response.status}`, { call })
  }
  const message = [problem['detail'], problem['title']].find(text => typeof text === 'string' && text !== '')
  return new ApiError(response.status, problem['code'], typeof message === 'string' ? message : problem['code'], { faults: faultsOf(problem['errors']), problem, call })
}

/** Whatever was thrown, as an `ApiError`. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(0, 'UNEXPECTED', error instanceof Error ? error.message : String(error))
}
