import { describe, expect, it } from 'vitest'
import type { Question } from '@/api/types'
import { lookOf } from './call'

const asked = (of: Partial<Question>): Question => ({ id: 'note', text: 'May it?', tool: 'http', ...of }) as Question

describe('a call that waits to be allowed', () => {
  it('is what its kind says', () => {
    expect(lookOf(asked({ callKind: 'http', server: null }))).toEqual({ icon: 'globe', does: 'http', from: 'step' })
    expect(lookOf(asked({ callKind: 'code', tool: 'code', server: null }))).toEqual({ icon: 'code', does: 'code', from: 'step' })
  })
  it.each(['http', 'code', 'delete'])('is a tool of the name %j where it is a tool, whoever it belongs to', (tool) => {
    expect(lookOf(asked({ callKind: 'tool', tool, server: 'files' }))).toEqual({ icon: 'tool', from: 'server' })
    expect(lookOf(asked({ callKind: 'tool', tool, server: null }))).toEqual({ icon: 'tool', from: 'own' })
  })
})
