/** One answer on its way: the draft that is kept on this device until it is sent, and what became of it. */
import { computed, ref, shallowRef, watch } from 'vue'
import { api, ok } from '@/api/client'
import { toApiError, type ApiError } from '@/api/errors'
import { writeJson } from '@/api/json'
import type { Pause } from '@/api/types'
import { useServerText } from '@/api/useServerText'
import { forget, readStored, store } from '@/shell/stored'
import { useWaiting } from '@/shell/waiting'
import { emptyDraft, firstAnswer, readAnswer, type AnswerFault, type Draft } from './answer'

const keyOf = (pauseId: string) => `flyback.answer.${pauseId}`

function draftOf(pause: Pause): Draft {
  const empty = emptyDraft(pause)
  const kept = readStored<Partial<Draft>>(keyOf(pause.pauseId))
  return { said: { ...empty.said, ...kept?.said }, form: { ...empty.form, ...kept?.form } }
}

export function useAnswering(asked: () => Pause, whenAnswered: (pause: Pause) => void) {
  const waiting = useWaiting()
  const inWords = useServerText()
  const draft = ref<Draft>(draftOf(asked()))
  const touched = ref(writeJson(draft.value) !== writeJson(emptyDraft(asked())))
  /** The action that is being sent. */
  const sending = ref<string>()
  const settled = shallowRef<Pause>()
  const failure = shallowRef<ApiError>()
  const faults = shallowRef<ReadonlyMap<string, AnswerFault>>(new Map())
  const mine = computed(() => settled.value !== undefined)
  const pause = computed(() => settled.value ?? asked())

  const isTaken = computed(() => failure.value?.code === 'PAUSE_ANSWERED')
  const isClosed = computed(() => failure.value?.code === 'PAUSE_CLOSED')
  const isWrong = computed(() => faults.value.size > 0 || (failure.value?.status === 422 && failure.value.faults.some(fault => pause.value.questions.some(question => question.id === fault.field))))
  const isOpen = computed(() => pause.value.status === 'OPEN' && !isTaken.value && !isClosed.value)
  const first = computed(() => {
    if (isTaken.value) return firstAnswer(failure.value?.problem['current'])
    return pause.value.status === 'ANSWERED' ? firstAnswer(pause.value) : undefined
  })

  watch(draft, (now) => {
    touched.value = true
    store(keyOf(asked().pauseId), now)
  }, { deep: true })

  /** What is wrong with one question, by us before it is sent or by the server after. */
  function faultOf(questionId: string): { ours?: AnswerFault, theirs?: string } {
    const ours = faults.value.get(questionId)
    const theirs = failure.value?.status === 422 ? failure.value.faults.find(fault => fault.field === questionId)?.message : undefined
    return { ...(ours && { ours }), ...(theirs && { theirs: inWords(theirs) }) }
  }

  async function send(action: string | undefined) {
    if (sending.value !== undefined || !isOpen.value) return
    const read = readAnswer(asked(), draft.value, action)
    faults.value = read.faults
    failure.value = undefined
    if (read.faults.size > 0) return
    sending.value = action ?? ''
    try {
      settled.value = await ok(api.POST('/api/pauses/{pause_id}/answer', { params: { path: { pause_id: asked().pauseId } }, body: read.given }))
      forget(keyOf(asked().pauseId))
      whenAnswered(settled.value)
      void waiting.refresh().catch(() => undefined)
    } catch (error) {
      failure.value = toApiError(error)
    } finally {
      sending.value = undefined
    }
  }

  return { draft, touched, sending, failure, pause, mine, isOpen, isTaken, isClosed, isWrong, first, faultOf, send }
}
