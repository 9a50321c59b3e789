import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { looksLikeMarkdown, withoutMarks } from './marks'

const read = (text: string) => withoutMarks(text).replace(/\s+/g, ' ').trim()

describe('a text without its marks', () => {
  it.each([
    ['## Tides\n\nHigh water is at **14:20**.\n\n- one\n- two [link](https://example.org)', 'Tides High water is at 14:20. • one • two link'],
    ['> *Said* `quietly`\n\n1. first\n2. __second__', 'Said quietly 1. first 2. second'],
    ['```python\nprint(2 * 3)\n```', 'print(2 * 3)'],
    ['| a | b |\n|---|:-:|\n| 1 | 2 |', 'a | b 1 | 2'],
    ['![pixel](https://evil.example/p.png) and - [ ] no task', 'pixel and - [ ] no task'],
  ])('%j reads as %j', (text, words) => {
    expect(read(text)).toBe(words)
  })
  it('is left as it is where there are none', () => {
    for (const text of ['costs 3 * 4 * 5', 'snake_case_name and other_name', 'a < b', '']) expect(withoutMarks(text)).toBe(text)
  })
  it('keeps every letter of every text', () => {
    const letters = (text: string) => text.replace(/[^a-z]/g, '')
    const piece = fc.constantFrom('**', '*', '_', '`', '\n', '# ', '- ', '> ', '|', ' ', 'word', 'ab', '1')
    fc.assert(fc.property(fc.array(piece, { maxLength: 24 }), pieces => letters(withoutMarks(pieces.join(''))) === letters(pieces.join(''))))
  })
})

it('tells a text with markdown from one without', () => {
  expect([looksLikeMarkdown('Come on Friday, all of you!'), looksLikeMarkdown('## 6 Limitations\nOur survey'), looksLikeMarkdown('1. first\n2. second'), looksLikeMarkdown('costs 3 * 4 * 5')]).toEqual([false, true, true, false])
})
