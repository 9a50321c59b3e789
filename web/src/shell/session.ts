/** Who is signed in. The cookie is the browser's own business; this holds the name and hands the CSRF token to the client. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, ok, setCsrfToken } from '@/api/client'
import { ApiError } from '@/api/errors'
import type { Session } from '@/api/types'

export const useSession = defineStore('session', () => {
  const user = shallowRef<Session['user']>()
  let asked: Promise<boolean> | undefined

  function accept(session: Session) {
    user.value = session.user
    setCsrfToken(session.csrfToken ?? undefined)
  }

  function forget() {
    user.value = undefined
    asked = undefined
    setCsrfToken(undefined)
  }

  /** Is somebody signed in? Asks the server once. Throws when the server cannot be reached. */
  function isSignedIn(): Promise<boolean> {
    if (user.value) return Promise.resolve(true)
    asked ??= ask()
    asked.catch(() => { asked = undefined })
    return asked
  }

  async function ask(): Promise<boolean> {
    try {
      accept(await ok(api.GET('/api/auth/me')))
      return true
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        asked = undefined
        return false
      }
      throw error
    }
  }

  async function signIn(secret: string) {
    accept(await ok(api.POST('/api/auth/sign-in', { body: { secret } })))
  }

  async function signOut() {
    await ok(api.POST('/api/auth/sign-out'))
    forget()
  }

  return { user, isSignedIn, signIn, signOut, forget }
})
