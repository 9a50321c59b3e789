/** Reads the secret from a sign-in link, and where the person wanted to go. Pure. */

/** The secret in a fragment (`#secret=…`), a whole link, or pasted on its own. */
export function secretIn(text: string): string | undefined {
  const named = /[#&]secret=([^&\s]+)/.exec(text)?.[1]
  if (named !== undefined) return decode(named)
  const bare = text.trim()
  return /^[\w~.-]{8,}$/.test(bare) ? bare : undefined
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The page to go on to: a path of this site, and never the sign-in page itself. */
export function nextPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in') ? next : '/workflows'
}
