/** Both languages say the same things, the page says nothing that is not there, and nothing is there unsaid. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { baseCompile } from '@intlify/message-compiler'
import { describe, expect, it } from 'vitest'
import type { Messages } from '../src/locales/byFeature'

const src = new URL('../src/', import.meta.url).pathname

function files(folder: string, suffix: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => suffix.test(name)).map(name => join(folder, name))
}

function textsOf(language: string): Map<string, string> {
  const texts = new Map<string, string>()
  const add = (key: string, value: string | Messages) => {
    if (typeof value === 'string') texts.set(key, value)
    else Object.entries(value).forEach(([part, inner]) => { add(`${key}.${part}`, inner) })
  }
  for (const file of readdirSync(join(src, 'locales', language)).filter(name => name.endsWith('.json'))) {
    add(file.replace('.json', ''), JSON.parse(readFileSync(join(src, 'locales', language, file), 'utf8')) as Messages)
  }
  return texts
}

const english = textsOf('en')
const chinese = textsOf('zh-CN')
const code = files(src, /\.(vue|ts)$/).filter(name => !/\.test\.ts$|schema\.d\.ts$/.test(name)).map(name => readFileSync(name, 'utf8')).join('\n')
const named = new Set([...code.matchAll(/['"`]([a-z][\w-]*(?:\.[\w-]+)+)['"`]/gi)].map(match => match[1] ?? ''))
const beginnings = [...code.matchAll(/`([a-z][\w-]*(?:\.[\w-]+)*\.)\$\{/gi)].map(match => match[1] ?? '')
const called = new Set([...code.matchAll(/\bt\(\s*'([^']+)'|(?<!:)keypath="([^"]+)"/g)].map(match => match[1] ?? match[2] ?? ''))

const parameters = (text: string) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(match => match[1]))].sort()

describe('the words of the page', () => {
  it('are the same set in both languages', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort())
  })
  it('take the same parameters in both languages', () => {
    const differing = [...english].filter(([key, text]) => parameters(text).join() !== parameters(chinese.get(key) ?? '').join()).map(([key]) => key)
    expect(differing).toEqual([])
  })
  it('are there when the page names them', () => {
    expect([...called].filter(key => !english.has(key)).sort()).toEqual([])
  })
  it('are all used', () => {
    const unused = [...english.keys()].filter(key => !named.has(key) && !beginnings.some(beginning => key.startsWith(beginning)))
    expect(unused).toEqual([])
  })
  it('can be compiled', () => {
    const broken: string[] = []
    for (const text of [...english.values(), ...chinese.values()]) {
      baseCompile(text, { onError: (fault) => { broken.push(`${text}: ${fault.message}`) } })
    }
    expect(broken).toEqual([])
  })
})

describe('the words of the server', () => {
  it('are shown in the language of the page', () => {
    // `text` is what `useErrorText` gives, which has been through it.
    const translated = /'[^']*'|\b(?:said|reasonOf)\([^()]*\)|\btext\.\w+/g
    const shown = files(src, /\.vue$/).flatMap(file => [...readFileSync(file, 'utf8').matchAll(/\{\{(.*?)\}\}/g)].map(match => match[1] ?? ''))
    const asTheyCame = shown.filter(text => /\.(?:message|fix|errorMsg|why|cause)\b/.test(text.replace(translated, '')))
    expect(asTheyCame).toEqual([])
  })
})
