/** Small things kept in this browser. A browser that keeps nothing (private mode, full) is no error. */
import { readJson, writeJson } from '@/api/json'

export function readStored<T>(key: string): T | undefined {
  try {
    const text = localStorage.getItem(key)
    return text === null ? undefined : readJson(text) as T
  } catch {
    return undefined
  }
}

export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, writeJson(value))
  } catch {
    // Full or forbidden: the page works on, and forgets when it is closed.
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {
    // A browser that keeps nothing has nothing to drop.
  }
}
