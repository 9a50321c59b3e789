import { describe, expect, it } from 'vitest'
import { nextPath, secretIn } from './link'

describe('a sign-in link', () => {
  it.each([['#secret=abc-123', 'abc-123'], ['http://127.0.0.1:8321/sign-in#secret=a%2Bb', 'a+b'], ['Sign in: http://h/sign-in#secret=xyz', 'xyz'], ['  longsecret_1 ', 'longsecret_1'], ['', undefined], ['hello there', undefined]])('%s holds the secret %s', (text, secret) => {
    expect(secretIn(text)).toBe(secret)
  })
  it.each([['/runs/1?tab=route', '/runs/1?tab=route'], ['//evil.example', '/workflows'], ['/\\evil.example', '/workflows'], ['https://evil.example', '/workflows'], ['/sign-in', '/workflows'], [undefined, '/workflows']])('that came from %s goes on to %s', (next, path) => {
    expect(nextPath(next)).toBe(path)
  })
})
