import { describe, expect, it } from 'vitest'
import type { McpServer } from '@/api/types'
import { asking, changeOf, formOf, givenOf } from './entries'

const server: McpServer = { id: 's', name: 'desk', url: 'https://a.example/mcp', ofOperator: false, hasToken: true, headerNames: ['X-Team'], approval: [], createdAt: null, updatedAt: null }

describe('the form of an MCP server', () => {
  it('sends what was typed and nothing else', () => {
    expect(givenOf({ ...formOf(), name: ' desk ', url: ' https://a.example/mcp ', token: 'secret', headers: [{ name: 'X-Team', value: 'tides' }, { name: ' ', value: 'lost' }] }))
      .toEqual({ name: 'desk', url: 'https://a.example/mcp', token: 'secret', headers: { 'X-Team': 'tides' } })
    expect(givenOf({ ...formOf(), name: 'desk', url: 'https://a.example/mcp' })).toEqual({ name: 'desk', url: 'https://a.example/mcp' })
  })
  it('leaves alone what was not touched, since what is stored is not known here', () => {
    expect(changeOf(formOf(server), server)).toEqual({})
    expect(changeOf({ ...formOf(server), token: 'new' }, server)).toEqual({ token: 'new' })
    expect(changeOf({ ...formOf(server), token: 'new', removesToken: true }, server)).toEqual({ token: '' })
    expect(changeOf({ ...formOf(server), changesHeaders: true }, server)).toEqual({ headers: {} })
    expect(changeOf({ ...formOf(server), url: 'https://b.example/mcp' }, server)).toEqual({ url: 'https://b.example/mcp' })
  })
  it('takes a star apart when one tool is not to ask any more', () => {
    expect([asking(['*'], ['a', 'b'], 'a', false), asking(['a'], ['a', 'b'], 'b', true), asking([], ['a'], 'a', true), asking(['a'], ['a'], 'a', true)]).toEqual([['b'], ['a', 'b'], ['a'], ['a']])
  })
})
