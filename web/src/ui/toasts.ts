/** Short notes at the bottom left. A toast is never the only trace of an error. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'

export interface Toast { id: number, text: string, action?: { label: string, run: () => unknown, keys?: string } }

export const useToasts = defineStore('toasts', () => {
  const toasts = shallowRef<Toast[]>([])
  let lastId = 0

  function show(text: string, action?: Toast['action']) {
    lastId += 1
    toasts.value = [...toasts.value.slice(-2), { id: lastId, text, ...(action && { action }) }]
  }
  function dismiss(id: number) {
    toasts.value = toasts.value.filter(toast => toast.id !== id)
  }
  return { toasts, show, dismiss }
})
