import { expect, it } from 'vitest'
import { given, namesOf, statusOf } from './toolUses'

const call = { callId: 'c', name: 'n', at: '2026-01-01T00:00:00Z', arguments: {} }

it('is running until it has a result, and cut off when its step ends before', () => {
  expect([statusOf(call, false), statusOf(call, true), statusOf({ ...call, durationMs: 0 }, false), statusOf({ ...call, durationMs: 3, error: { code: 'X', message: 'no' } as never }, true)])
    .toEqual(['RUNNING', 'CANCELLED', 'SUCCESS', 'FAILED'])
})
it('names the server apart from the tool', () => {
  expect([namesOf('loki__query_range'), namesOf('read_skill_file'), namesOf('a__b__c'), namesOf('__x'), namesOf('x__')])
    .toEqual([{ server: 'loki', tool: 'query_range' }, { tool: 'read_skill_file' }, { server: 'a', tool: 'b__c' }, { tool: '__x' }, { tool: 'x__' }])
})
it('says what a tool was given in a line', () => {
  expect([given({ q: 'up', limit: 3, tags: ['a'] }), given({}), given(null), given([1])]).toEqual(['q: up, limit: 3, tags: ["a"]', '', '', '[1]'])
})
