/** Workflows that ask a person: an agent with several kinds of questions, and a form with every type of field. */
import { edges, node, planner, type Document } from './documents.ts'

/** An agent that asks three questions at once, and answers when it was answered. */
export const tripPlanner = (name = 'Trip planner', language: 'en' | 'zh-CN' = 'en'): Document => {
  const t = (en: string, zh: string) => (language === 'en' ? en : zh)
  return {
    name, mode: 'AGENTIC', graphData: {
      nodes: [
        node('ask', 'userInput', 0, 0, { label: t('Trip', '行程'), description: t('Where to', '去哪里'), variables: [{ name: 'place', label: t('Where to?', '去哪里？'), type: 'string', default: t('Husum', '胡苏姆') }] }),
        node('plan', 'smartAction', 280, 0, { label: t('Plan the trip', '安排行程'), description: t('Plans, and asks what it does not know', '安排行程，不清楚就问'), instruction: t('Plan a trip to {{place}}', '安排去{{place}}的行程') }),
        node('out', 'output', 560, 0, { label: t('Plan', '行程单'), outputType: 'markdown', template: '{{plan.final_response}}' }),
      ],
      edges: edges('ask -> plan', 'plan -> out'),
    },
    script: [
      {
        for: { node: 'plan' }, replies: [
          { tool: { name: 'clarify', args: { questions: [
            { question: t('How will you get there?', '怎么去？'), choices: [t('By train', '坐火车'), t('By car', '开车')] },
            { question: t('What must not be missing?', '必须包含什么？'), choices: [t('The harbour', '港口'), t('The museum', '博物馆'), t('The dike', '堤坝')], multi: true },
            { question: t('Anything else?', '还有别的吗？') },
          ] } } },
          { text: t('## Plan\n\n1. **Train** to Husum\n2. The harbour and the museum', '## 行程\n\n1. **火车**到胡苏姆\n2. 港口和博物馆') },
        ], repeatLast: true,
      },
      planner(['plan', t('The place is known: plan.', '地点已知：开始安排。')], ['out', t('The plan is there.', '行程已好。')]),
    ],
  }
}

/** A form with a field of every type and three ways to answer; `timeout` in seconds, after which the defaults are taken. */
export const invoiceCheck = (name = 'Invoice check', timeout?: number): Document => ({
  name, mode: 'DAG', graphData: {
    nodes: [
      node('ask', 'userInput', 0, 0, { label: 'Invoice', variables: [{ name: 'amount', label: 'Amount', type: 'integer', default: 12000 }] }),
      node('check', 'humanInput', 280, 0, {
        label: 'Ask accounting', prompt: 'An invoice of **{{amount}}** EUR from Harbour Ltd.', ...(timeout !== undefined && { timeout, onTimeout: 'default' }),
        actions: [{ id: 'book', label: 'Book it' }, { id: 'back', label: 'Send it back' }],
        form: [
          { name: 'centre', label: 'Cost centre', type: 'select', options: ['4711', '4712'], required: true, default: '4711' },
          { name: 'note', label: 'Note', type: 'text', description: 'Stands on the booking' },
          { name: 'share', label: 'Share in percent', type: 'integer', default: 100, required: true },
          { name: 'rate', label: 'Rate', type: 'number' },
          { name: 'today', label: 'Pay today', type: 'boolean' },
          { name: 'extra', label: 'Extra data', type: 'json' },
        ],
      }),
      node('booked', 'template', 560, 0, { label: 'Booked', template: 'booked on {{check.centre}}, {{check.share}} %: {{check.note}}' }),
      node('back', 'template', 560, 160, { label: 'Sent back', template: 'sent back: {{check.note}}' }),
      node('out', 'output', 840, 0, { label: 'Result', outputType: 'text' }),
    ],
    edges: edges('ask -> check', 'check:action-book -> booked', 'check:action-back -> back', 'booked -> out', 'back -> out'),
  },
})
