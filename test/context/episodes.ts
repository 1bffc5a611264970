import type { JsonObject } from '#contracts/json.ts'
import { addTurn, makeOutput, maxResultChars, place } from './conversation.ts'
import type { Conversation, Exchange, PlacedFact } from './conversation.ts'
import { formats, someWords, type Planted } from './formats.ts'
import type { RecallForm } from './languages.ts'
import type { PlannedFact } from './plan.ts'

const isRecall = ({ kind }: PlannedFact) => kind === 'recall'

/** How a person says a fact. */
export const saidOf = (
  { language }: Conversation,
  { form, subject, said, corrects }: PlannedFact,
) =>
  corrects ? language.correction(subject, said) : language.recall[form as RecallForm](subject, said)

/** What a person says: chat, facts whose time has come, sometimes a long text around them. */
export function addUser(conversation: Conversation, { opening = '', longChars = 0 } = {}): string {
  const { draw, language, messages, placed } = conversation
  const facts = conversation.take(3, isRecall)
  const sentences = [draw.pick(language.user), draw.pick(language.user)]
  if (longChars > 0 && draw.chance(0.06))
    for (let left = draw.int(1, longChars); left > 0; left -= 90)
      sentences.push(draw.chance(0.5) ? draw.pick(language.user) : `> ${someWords(draw, 12)}`)
  for (const fact of facts)
    sentences.splice(draw.int(0, sentences.length), 0, saidOf(conversation, fact))
  const text = [...(opening ? [opening] : []), ...sentences].join(draw.pick([' ', '\n', '\n\n']))
  const at = messages.push({ role: 'user', text, taint: ['user'] }) - 1
  for (const fact of facts) {
    place(conversation, fact, { at })
    const wrong = placed.find(({ plan }) => plan === fact.corrects)
    if (wrong) wrong.until = at
  }
  return text
}

/** Reads, one or several at once; ids whose time has come stand in what is read, and ids that only look like them. */
export function addReading(conversation: Conversation): void {
  const { draw, domain, messages, placed } = conversation
  const facts = conversation.take(3, ({ kind }) => kind === 'artefact')
  const many = draw.chance(0.15) ? draw.int(2, 4) : 1
  const shares = Array.from({ length: many }, (): PlannedFact[] => [])
  for (const fact of facts) draw.pick(shares).push(fact)
  const exchanges = shares.map((mine): Exchange => {
    const { tool, argument, format } = draw.pick(domain.readers)
    const planted: Planted[] = mine.map(plantedOf)
    const earlier = placed.filter(({ kind }) => kind === 'artefact')
    if (earlier.length > 0 && draw.chance(0.25)) planted.push(alike(draw.pick(earlier).plan))
    const chars = Math.min(conversation.resultChars() / many, maxResultChars - 200 * planted.length)
    return {
      name: tool,
      input: { [argument]: someWords(draw, draw.int(1, 4)) },
      output: makeOutput(draw, format, { chars, planted }),
    }
  })
  const answers = addTurn(conversation, agentText(conversation), exchanges)
  shares.forEach((mine, index) =>
    mine.forEach((fact) => placeArtefact(conversation, fact, answers[index]!.at)),
  )
  if (draw.chance(0.05)) repeatLast(conversation, messages.length - answers.length - 1)
}

/** Most are named again soon and once more much later. */
function placeArtefact(conversation: Conversation, fact: PlannedFact, at: number): void {
  const { draw } = conversation
  const { nextAt } = place(conversation, fact, { at })
  if (draw.chance(0.9)) nextAt.push(at + draw.int(2, 12), at + draw.wide(12, 400))
}

const plantedOf = ({ subject, form, value }: PlannedFact): Planted => ({
  subject,
  field: form,
  value,
})

/** Of another thing, and different in the last two characters only. */
function alike({ form, value }: PlannedFact): Planted {
  const end = value.slice(-2)
  const turned = end[0] === end[1] ? `${end[0] === '7' ? '8' : '7'}${end[1]}` : `${end[1]}${end[0]}`
  return { subject: 'another one', field: form, value: value.slice(0, -2) + turned }
}

/** The same calls again, with the same answers. */
function repeatLast(conversation: Conversation, from: number): void {
  const { messages, language, draw } = conversation
  const said = messages[from]
  if (said?.role !== 'assistant' || !said.toolCalls) return
  const outputs = new Map(
    messages.slice(from).flatMap((one) => (one.role === 'tool' ? [[one.callId, one.output]] : [])),
  )
  const exchanges = said.toolCalls.map(({ id, name, input }) => ({
    name,
    input,
    output: outputs.get(id) ?? null,
  }))
  addTurn(conversation, draw.pick(language.agent), exchanges)
}

/** A call that went wrong, and what the model reads of it. */
export function addFailure(conversation: Conversation): void {
  const { draw, domain } = conversation
  const { tool, argument } = draw.pick(domain.readers)
  const error = draw.pick([
    { code: 'tool_timeout', message: 'The tool did not answer within 30 s.' },
    { code: 'tool_failed', message: `upstream answered 503: ${someWords(draw, 30)}` },
    { code: 'tool_invalid_input', message: `/${argument}: must be string` },
  ])
  const input = { [argument]: someWords(draw, 3) }
  addTurn(conversation, agentText(conversation), [
    { name: tool, input, output: { error }, isError: true },
  ])
}

/** A sub-agent's report: prose and a list of what it touched. */
export function addReport(conversation: Conversation): void {
  const { draw, domain } = conversation
  const facts = conversation.take(2, ({ kind }) => kind === 'artefact')
  const planted = facts.map(plantedOf)
  const result = makeOutput(draw, formats.page, { chars: draw.int(600, 3_000), planted })
  const output = { result, files: [`notes/${draw.slug(8)}.md`], usage: { turns: draw.int(1, 20) } }
  const name = `${domain.name.replace(' ', '_')}_expert__run`
  const [answer] = addTurn(conversation, agentText(conversation), [
    { name, input: { task: someWords(draw, 15) }, output },
  ])
  for (const fact of facts) placeArtefact(conversation, fact, answer!.at)
}

/** A person is asked and approves or denies one or two calls at once. False: no decision is due. */
export function addDecision(conversation: Conversation): boolean {
  const { draw, domain, language, messages, decided } = conversation
  const facts = conversation.take(draw.int(1, 2), ({ kind }) => kind === 'decision')
  if (facts.length === 0) return false
  const [tool, argument] = domain.act
  const exchanges = facts.map(({ form, subject, value }): Exchange => {
    if (form === 'answer') {
      const input = { question: language.question(subject) }
      return { name: 'isola__ask', input, output: language.answer(subject, value) }
    }
    if (form === 'approved') {
      const output: JsonObject = { status: 'done', receipt: draw.hex(12) }
      return { name: tool, input: { [argument]: value, about: subject }, output }
    }
    const error = { code: 'tool_denied', message: language.denial(subject, value) }
    const input = { [argument]: someWords(draw, 2), about: subject }
    return { name: tool, input, output: { error }, isError: true }
  })
  const callAt = messages.length
  const answers = addTurn(conversation, agentText(conversation), exchanges)
  facts.forEach((fact, index) => {
    const { callId, at } = answers[index]!
    if (fact.form === 'answer') return void place(conversation, fact, { at })
    decided.push({ callId, at })
    const pinned = { reason: 'approval', from: at } as const
    place(conversation, fact, { at: fact.form === 'approved' ? callAt : at, pinned })
  })
  return true
}

/** A call that waits undecided while the conversation goes on. */
function addWaiting(conversation: Conversation, fact: PlannedFact): true {
  const { draw, domain, messages, waiting } = conversation
  const at = messages.length
  const [name, argument] = domain.act
  const input = { [argument]: fact.value, about: fact.subject }
  const error = { code: 'tool_pending', message: 'Waiting for someone; not done so far.' }
  const [answer] = addTurn(conversation, agentText(conversation), [
    { name, input, output: { error }, isError: true },
  ])
  const pinned = { reason: 'open pause', from: answer!.at } as const
  const placed = place(conversation, fact, { at, pinned })
  waiting.push({ ...answer!, fact: placed })
  if (draw.chance(0.6)) placed.nextAt.push(at + draw.wide(6, 500))
  return true
}

/** An open list of tasks is written anew, a sub-agent goes on by itself, or a call waits for a person. */
export function addOpenWork(conversation: Conversation): boolean {
  const { draw, language, messages, placed } = conversation
  const [fact] = conversation.take(
    1,
    ({ form, kind }) => kind === 'continuation' && form !== 'announced',
  )
  if (!fact) return false
  const at = messages.length
  const said = language.next(fact.subject, fact.value)
  if (fact.form === 'waiting') return addWaiting(conversation, fact)
  if (fact.form === 'background') {
    const output = { status: 'running', child: `child_${draw.slug(10)}` }
    const input = { task: said, background: true }
    addTurn(conversation, agentText(conversation), [{ name: 'worker__run', input, output }])
  } else {
    const open = placed.filter(({ form, until }) => form === 'todo' && until === undefined)
    const items = [
      ...open.map(({ plan }) => ({ text: language.next(plan.subject, plan.value), done: false })),
      { text: someWords(draw, 6), done: true },
      { text: said, done: false },
    ]
    addTurn(conversation, agentText(conversation), [
      { name: 'todo__write', input: { items }, output: 'ok' },
    ])
  }
  place(conversation, fact, { at }).nextAt.push(at + draw.wide(6, 500))
  return true
}

/** Calls that name ids which were shown before: right after, or much later. */
export function addNaming(conversation: Conversation): boolean {
  const { draw, domain, messages } = conversation
  const due = dueOf(conversation, 'artefact').slice(0, 3)
  if (due.length === 0) return false
  const at = messages.length
  const inText = draw.chance(0.25) ? due.map(({ plan }) => plan.value) : []
  const exchanges = (inText.length > 0 ? due.slice(0, 1) : due).map(({ plan }): Exchange => {
    const { tool, format } = draw.pick(domain.readers)
    const chars = conversation.resultChars() / 3
    const input = inText.length > 0 ? { page: draw.int(1, 9) } : { [plan.form]: plan.value }
    return { name: tool, input, output: makeOutput(draw, format, { chars, planted: [] }) }
  })
  addTurn(conversation, [agentText(conversation), ...inText].join(' '), exchanges)
  for (const fact of due) {
    fact.nextAt.shift()
    fact.namedAgain.push(at)
    fact.pinned ??= { reason: 'named again', from: at }
  }
  return true
}

function dueOf({ placed, messages }: Conversation, kind: string): readonly PlacedFact[] {
  return placed.filter(
    ({ nextAt, kind: of }) =>
      of === kind && nextAt[0] !== undefined && nextAt[0] <= messages.length,
  )
}

/** What the agent says: that something is settled, what it looks at, what it will do next. */
export function agentText(conversation: Conversation): string {
  const { draw, language, messages } = conversation
  const done = dueOf(conversation, 'continuation')
  for (const fact of done) {
    fact.nextAt.shift()
    fact.until = messages.length
  }
  const announced = conversation.take(2, ({ form }) => form === 'announced')
  for (const fact of announced) {
    const placedFact = place(conversation, fact, { at: messages.length })
    if (draw.chance(0.7)) placedFact.nextAt.push(messages.length + draw.wide(4, 300))
  }
  return [
    ...done.map(({ plan }) => language.done(plan.subject)),
    ...(draw.chance(0.7) ? [draw.pick(language.agent)] : []),
    ...announced.map(({ subject, value }) => language.next(subject, value)),
  ].join(' ')
}
