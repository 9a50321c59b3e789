import { describe, expect, it } from 'vitest'
import type { Pause } from '@/api/types'
import { askedBy, found, neighbour } from './list'

const pause = (of: Partial<Pause>): Pause => ({ pauseId: 'p', runId: 'r', workflowName: 'Paper desk', nodeId: 'n1', nodeLabel: 'Ask the editor', prompt: '', questions: [{ id: 'q', text: 'Is the **tone** right?' }], status: 'OPEN', ...of }) as Pause

describe('the list of questions', () => {
  it('says what is asked, without marks', () => {
    expect(askedBy(pause({}))).toBe('Is the tone right?')
    expect(askedBy(pause({ prompt: '# Look at this' }))).toBe('Look at this')
  })
  it.each(['paper', 'EDITOR', 'tone right', 'desk tone', ''])('finds a question by %j', (search) => {
    expect(found(pause({}), search)).toBe(true)
  })
  it('finds what was called and what was said, and nothing else', () => {
    const call = pause({ questions: [{ id: 'note', text: 'May it run?', tool: 'delete', server: 'files' } as Pause['questions'][number]] })
    expect([found(call, 'files delete'), found(call, 'write')]).toEqual([true, false])
    const answered = pause({ status: 'ANSWERED', answers: [{ questionId: 'q', value: 'Warmer' }] as never, answeredBy: 'owner' })
    expect([found(answered, 'warmer'), found(pause({}), 'warmer')]).toEqual([true, false])
  })
  it('goes from one question to the next and stops at both ends', () => {
    const all = ['a', 'b', 'c'].map(pauseId => pause({ pauseId }))
    const to = (from: string | undefined, by: 1 | -1) => neighbour(all, from, by)?.pauseId
    expect([to(undefined, 1), to('a', 1), to('c', 1), to('c', -1), to('a', -1), to('gone', -1)]).toEqual(['a', 'b', 'c', 'b', 'a', 'c'])
    expect(neighbour([], 'a', 1)).toBeUndefined()
  })
})
