/** A workflow as a person has one: nine nodes in two languages, a run of twelve visits that leaves the drawing three times. */
import { edges, node, type Document, type ScriptPart } from './documents.ts'

type Language = 'en' | 'zh-CN'
type Words = Record<Language, string>
const w = (en: string, zh: string): Words => ({ 'en': en, 'zh-CN': zh })

const FIRST = w('High tide in Husum is at 14:20. The harbour stays open for walkers, the outer mole is closed.', '胡苏姆今天 14:20 涨潮。港区步道开放，外堤关闭。')
const LONG = w(
  '## Tide note for Husum\n\nHigh water is at **14:20**, low water at **20:35**.\n\n- The harbour walk is open all day.\n- The outer mole is closed from 13:00 to 16:00.\n- Wind from the west, 6 Beaufort: hold on to your hat.\n\n*Source: harbour office, read at 08:10.*',
  '## 胡苏姆潮汐通报\n\n**14:20** 涨潮，**20:35** 退潮。\n\n- 港区步道全天开放。\n- 外堤 13:00 至 16:00 关闭。\n- 西风 6 级，注意保暖。\n\n*来源：港务局，08:10 读取。*',
)

export function paperDesk(language: Language): Document {
  const t = (words: Words) => words[language]
  const planner: ScriptPart = {
    for: { role: 'planner' }, replies: ([
      ['plan', w('The question is known: decide what the note needs.', '问题已清楚：先确定通报需要什么。')],
      ['tides', w('The tide times come first.', '先查潮汐时间。')],
      ['write', w('Times are there: write a first draft.', '时间已有：写初稿。')],
      ['review', w('A draft is there: let it be read.', '初稿完成：进行审阅。')],
      ['tides', w('The review misses low water, and no line leads back to the table: read it again.', '审阅发现缺少退潮时间，画布上没有回到潮汐表的连线：重新读取。')],
      ['write', w('Both times are there: write again.', '两个时间都有了：重写。')],
      ['review', w('Written again: read again.', '已重写：再次审阅。')],
      ['plan', w('The reader also wants to know what is closed: that changes the plan.', '读者还想知道哪些地方关闭：需要调整计划。')],
      ['closures', w('The plan asks for closures now.', '计划现在需要关闭信息。')],
      ['write', w('Closures are known: write the last version.', '关闭信息已知：写最终版。')],
      ['note', w('Everything that was asked for is in it.', '所有要求都已满足。')],
    ] as const).map(([next, reason]) => ({ next, reason: t(reason), delayMs: 90 })),
  }
  const says = (id: string, ...texts: Words[]): ScriptPart => ({ for: { node: id }, replies: texts.map(text => ({ stream: t(text).match(/[\s\S]{1,24}/g) ?? [], everyMs: 12 })), repeatLast: true })
  return {
    name: t(w('Tide note', '潮汐通报')),
    mode: 'AGENTIC',
    description: t(w('Reads the tide table and writes a note that the harbour can print.', '读取潮汐表，写出港口可以打印的通报。')),
    maxVisits: 20,
    graphData: {
      nodes: [
        node('ask', 'userInput', 0, 140, { label: t(w('Question', '问题')), description: t(w('What the reader wants to know', '读者想知道什么')), variables: [{ name: 'place', label: t(w('Which harbour?', '哪个港口？')), type: 'string', required: true, default: t(w('Husum', '胡苏姆')) }] }),
        node('plan', 'llm', 280, 140, { label: t(w('Plan', '计划')), description: t(w('Decide what the note needs', '确定通报需要的内容')), userPrompt: t(w('What must a tide note for {{place}} hold?', '{{place}} 的潮汐通报需要包含什么？')) }),
        node('tides', 'llm', 560, 0, { label: t(w('Tide table', '潮汐表')), description: t(w('Read high and low water', '读取涨潮和退潮')), userPrompt: t(w('Tides of {{place}}, {{review.text?}}', '{{place}} 的潮汐，{{review.text?}}')) }),
        node('closures', 'llm', 560, 280, { label: t(w('Closures', '关闭信息')), description: t(w('What is closed today', '今天哪些地方关闭')), userPrompt: t(w('What is closed in {{place}}?', '{{place}} 哪些地方关闭？')) }),
        node('write', 'llm', 840, 140, { label: t(w('Write note', '撰写通报')), description: t(w('Write the note, or write it again', '撰写或重写通报')), userPrompt: t(w('A note on {{place}}: {{tides.text}} {{closures.text?}}', '关于 {{place}} 的通报：{{tides.text}} {{closures.text?}}')) }),
        node('review', 'llm', 1120, 140, { label: t(w('Review', '审阅')), description: t(w('Find what is missing', '找出缺少的内容')), userPrompt: t(w('What is missing in {{write.text}}', '{{write.text}} 缺少什么？')) }),
        node('note', 'output', 1400, 140, { label: t(w('Note', '通报')), description: t(w('Hand the note over', '交付通报')), outputType: 'markdown', template: '{{write.text}}' }),
      ],
      edges: edges('ask -> plan', 'plan -> tides', 'plan -> closures', 'tides -> write', 'closures -> write', 'write -> review', 'review -> note'),
    },
    script: [
      says('plan', w('Times of high and low water, and the source.', '涨潮和退潮时间，以及来源。'), w('Times, closures, wind, and the source.', '时间、关闭信息、风力和来源。')),
      says('tides', w('High water 14:20.', '涨潮 14:20。'), w('High water 14:20, low water 20:35.', '涨潮 14:20，退潮 20:35。')),
      says('closures', w('The outer mole, 13:00 to 16:00.', '外堤，13:00 至 16:00。')),
      says('write', FIRST, FIRST, LONG),
      says('review', w('Low water is missing.', '缺少退潮时间。'), w('The reader has a new requirement: say what is closed.', '读者有新要求：说明哪些地方关闭。')),
      planner,
    ],
  }
}
