import { describe, expect, it } from 'vitest'
import { formatBytes, formatCost, formatDuration, formatRelative, formatTokens } from './format'

describe('a duration', () => {
  it.each([
    [0, '0 ms'], [23.4, '23 ms'], [95, '0.1 s'], [400, '0.4 s'], [9_960, '10 s'], [59_400, '59 s'], [252_000, '4 min 12 s'], [240_000, '4 min'], [7_500_000, '2 h 5 min'], [90_000_000, '1 d 1 h'],
  ])('of %i ms reads %s', (ms, words) => {
    expect(formatDuration(ms, 'en')).toBe(words)
  })
  it('is said in Chinese too', () => {
    expect(formatDuration(252_000, 'zh-CN')).toBe('4 分钟 12 秒')
    expect(formatDuration(23, 'zh-CN')).toBe('23 毫秒')
  })
})

describe('an amount', () => {
  it('of tokens gets a short form from ten thousand', () => {
    expect([980, 9_999, 21_480, 1_200_000].map(value => formatTokens(value, 'en'))).toEqual(['980 tok', '9,999 tok', '21.5k tok', '1.2M tok'])
    expect([980, 9_999, 21_480, 1_200_000].map(value => formatTokens(value, 'zh-CN'))).toEqual(['980 Token', '9,999 Token', '2.1万 Token', '120万 Token'])
  })
  it('of money keeps the digits that tell it from nothing', () => {
    expect(formatCost(0.038, 'USD', 'en')).toBe('$0.038')
    expect(formatCost(0.0004, 'USD', 'en')).toBe('$0.0004')
    expect(formatCost(12, 'CNY', 'zh-CN')).toBe('¥12.00')
  })
  it('of bytes is in binary units', () => {
    expect([0, 512, 65_536, 1_117_320_768].map(formatBytes)).toEqual(['0 B', '512 B', '64 KiB', '1 GiB'])
  })
})

describe('a time', () => {
  const now = new Date('2026-03-10T12:00:00')
  it.each([
    ['2026-03-10T11:59:50', 'just now'], ['2026-03-10T11:56:00', '4 min ago'], ['2026-03-10T09:00:00', '3 hr ago'],
    ['2026-03-09T08:40:00', 'yesterday 08:40'], ['2026-01-05T18:40:00', 'Jan 5 18:40'],
  ])('at %s reads %s', (then, words) => {
    expect(formatRelative(new Date(then), now, 'en')).toBe(words)
  })
})
