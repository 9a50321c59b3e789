/** What the server says in English is said in another language, whole or part by part, and nothing is made up. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import chinese from '../locales/server/zh-CN.json'
import { translator } from './serverText'

const say = translator({
  'There is no workflow {0!r}.': '没有工作流 {0}。',
  'Node {0!r}: {1*}': '节点 {0}：{1}',
  'Node {0!r}, {1*}: {2*}.': '节点 {0} 的 {1}：{2}。',
  'must be a list': '应为列表',
  'Input {0!r} is required.': '输入 {0} 为必填。',
  'Input {0*}': '输入 {0}',
  '{0!r} is {1*}, but must be {2*}.': '{0} 为 {1}，但应为{2}。',
  'a whole number': '整数',
  'the tool failed: {0}': '工具失败：{0}',
  'And {0} more.': '还有 {0} 个。',
  '{0*}: {1*}.': '{0}：{1}。',
  'Field required': '缺少此字段',
  'or: {0*}': '或：{0}',
  'Try again. Then look at the log.': '请重试，再查看日志。',
  'Two nodes have the id {0*}.': '有两个节点的 id 都是 {0}。',
  'node {0!r} failed: {1*} [{2}]': '节点 {0} 失败：{1} [{2}]',
  'the call was refused: {0}': '调用被拒绝：{0}',
  '{0} of {1} {2*}': '{0} / {1} {2}',
  'Use one of {0*}.': '使用以下之一：{0}。',
})

describe('what the server said', () => {
  it.each([
    ['There is no workflow \'letters\'.', '没有工作流 \'letters\'。'],
    ['Try again. Then look at the log.', '请重试，再查看日志。'],
    ['Node \'a\': There is no workflow \'b\'.', '节点 \'a\'：没有工作流 \'b\'。'],
    ['Node \'a\', items.0: must be a list.', '节点 \'a\' 的 items.0：应为列表。'],
    ['Input \'n\' is \'x\', but must be a whole number.', '输入 \'n\' 为 \'x\'，但应为整数。'],
    ['name: Field required.', 'name：缺少此字段。'],
    ['name: Field required; or: must be a list.', 'name：缺少此字段；或：应为列表。'],
    ['Input \'a\' is required. Input \'b\' is required. And 3 more.', '输入 \'a\' 为必填。输入 \'b\' 为必填。还有 3 个。'],
  ])('is translated with what stands inside it: %s', (english, expected) => {
    expect(say(english)).toBe(expected)
  })
  it('keeps a name whole, whatever it holds', () => {
    expect(say(String.raw`There is no workflow 'it\'s a. "test".'.`)).toBe(String.raw`没有工作流 'it\'s a. "test".'。`)
    expect(say('Node "a, b: c\', d", x: must be a list.')).toBe('节点 "a, b: c\', d" 的 x：应为列表。')
  })
  it('takes brackets around a cause from outside', () => {
    expect(say('node \'a\' failed: node \'b\' failed: must be a list [INVALID] [FAILED]')).toBe('节点 \'a\' 失败：节点 \'b\' 失败：应为列表 [INVALID] [FAILED]')
  })
  it('goes by its own words first, and not by signs that fit everything', () => {
    expect(say('Use one of text, json.')).toBe('使用以下之一：text, json。')
    expect(say('node \'a\' failed: the end of it all [X]')).toBe('节点 \'a\' 失败：the end of it all [X]')
  })
  it('changes nothing in what a person wrote, however many sentences it has', () => {
    expect(say('the call was refused: This is wrong. And 3 more. Try again.')).toBe('调用被拒绝：This is wrong. And 3 more. Try again.')
  })
  it('leaves names and foreign words as they are, also where they read like a sentence of ours', () => {
    expect(say('There is no workflow \'must be a list\'.')).toBe('没有工作流 \'must be a list\'。')
    expect(say('the tool failed: must be a list')).toBe('工具失败：must be a list')
  })
  it('stays English where nothing is known of it', () => {
    expect(say('Something unheard of: quite so.')).toBe('Something unheard of: quite so.')
    expect(say('')).toBe('')
    expect(say('没有工作流。')).toBe('没有工作流。')
  })
  it('stays English in the one sentence of several that is not known', () => {
    expect(say('Input \'a\' is required. The moon is full. And 3 more.')).toBe('输入 \'a\' 为必填。The moon is full. 还有 3 个。')
  })
})

describe('a hostile text', () => {
  const pieces = fc.constantFrom('\'', '"', '\\', '. ', '; ', ': ', ' is ', ', but must be ', 'Node ', 'Input ', 'must be a list', '{0}', 'a', 'Ω')
  const whole = translator(chinese)
  it('never stops the page', () => {
    fc.assert(fc.property(fc.array(pieces, { maxLength: 400 }), (parts) => { expect(typeof whole(parts.join(''))).toBe('string') }), { numRuns: 60 })
    expect(whole('\''.repeat(100_000))).toBe('\''.repeat(100_000))
  })
})

describe('the Chinese catalog', () => {
  const translate = translator(chinese)
  const filled = (template: string) => template.replace(/\{(\d+)(!r|\*)?\}/g, (_, n: string, kind?: string) => (kind ? `'x${n}'` : `7${n}`))
  it('says every sentence as its own, and none as another', () => {
    const speaking = Object.entries(chinese).filter(([english]) => /[A-Za-z]{2}/.test(english))
    const others = speaking.map(([english, said]) => {
      const kinds = new Map([...english.matchAll(/\{(\d+)(!r|\*)?\}/g)].map(([, n, kind]) => [n, kind]))
      const expected = said.replace(/\{(\d+)\}/g, (_, n: string) => (kinds.get(n) ? `'x${n}'` : `7${n}`))
      return { english, expected, got: translate(filled(english)) }
    }).filter(({ expected, got }) => expected !== got)
    expect(others).toEqual([])
  })
})
