/** A person's session, got as the page gets it: by the one-time link. */

/** What Playwright calls a storage state: here the cookie of a signed-in person, and nothing else. */
export interface Session { cookies: Cookie[], origins: [] }
interface Cookie { name: string, value: string, domain: string, path: string, expires: number, httpOnly: boolean, secure: boolean, sameSite: 'Strict' }

export async function signIn(baseUrl: string, link: string): Promise<{ session: Session, csrfToken: string }> {
  const answer = await fetch(`${baseUrl}/api/auth/sign-in`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret: decodeURIComponent(link.split('#secret=')[1] ?? '') }),
  })
  if (!answer.ok) throw new Error(`signing in: ${answer.status} ${await answer.text()}`)
  const cookies = answer.headers.getSetCookie().map((text): Cookie => {
    const [name = '', value = ''] = (text.split(';')[0] ?? '').split('=')
    return { name, value, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Strict' }
  })
  const { csrfToken } = await answer.json() as { csrfToken: string }
  return { session: { cookies, origins: [] }, csrfToken }
}
