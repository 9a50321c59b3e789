/** Whether the command bar is open; any page may open it, with a first text (`@`, `#`, `>`). */
import { defineStore } from 'pinia'
import { ref } from 'vue'

export const useCommandBar = defineStore('commandBar', () => {
  const isOpen = ref(false)
  const firstText = ref('')

  function open(text: unknown = '') {
    firstText.value = typeof text === 'string' ? text : ''
    isOpen.value = true
  }
  function close() {
    isOpen.value = false
  }
  return { isOpen, firstText, open, close }
})
