import { describe, expect, it } from 'vitest'
import { readProblem, toApiError } from './errors'

describe('a call that failed', () => {
  it('is read from the problem document', async () => {
    const body = { type: 'about:blank', title: 'Invalid', status: 422, detail: 'The name is taken.', code: 'INVALID', errors: [{ node: null, field: 'body.name', message: 'Taken.', fix: 'Choose another.' }] }
    const error = await readProblem(new Response(JSON.stringify(body), { status: 422 }), 'POST /api/models')
    expect(error).toMatchObject({ status: 422, code: 'INVALID', message: 'The name is taken.' })
    expect(error.faultOf('name')).toBe('Taken.')
    expect(error.details).toBe('POST /api/models 422 INVALID\nThe name is taken.\nbody.name · Taken. · Choose another.')
  })
  it('keeps what the code adds', async () => {
    const error = await readProblem(new Response(JSON.stringify({ code: 'REVISION_CONFLICT', title: 'Conflict', current: { revision: 4 } }), { status: 409 }))
    expect(error.problem['current']).toEqual({ revision: 4 })
  })
  it('is still an error with a status when the answer is none of ours', async () => {
    expect(await readProblem(new Response('<html>', { status: 502 }))).toMatchObject({ status: 502, code: 'UNREADABLE' })
  })
  it('can be anything that was thrown', () => {
    expect(toApiError(new TypeError('x'))).toMatchObject({ status: 0, code: 'UNEXPECTED', message: 'x' })
  })
})
