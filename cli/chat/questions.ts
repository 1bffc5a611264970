// Questions of a plugin or an MCP server in the middle of a call: a form, an answer of a model, or places to work in.

import type { Reply, Request } from '../../src/client/client.ts'
import { defined } from '../../src/contracts/defined.ts'
import type { Json } from '../../src/contracts/json.ts'
import { lines, short } from '../text.ts'

// The person who is asked, and the decision.

export type Pause = NonNullable<Reply<'GET /api/sessions/:id/runs/:run'>['pauses']>[number]
export type Decision = Request<'POST /api/sessions/:id/runs/:run/decisions'>['body']
type Limits = Request<'POST /api/sessions/:id/runs/:run/limits'>['body']

/** How a person is asked, and what ends it. */
export interface Person {
  /** Resolves to a person's words, to undefined at the end of the input. */
  readonly ask: (prompt: string) => Promise<string | undefined>
  readonly note: (text: string) => void
  /** A person types, so that a second question is possible. A line of a pipe is one answer. */
  readonly isTerminal?: boolean
  /** Aborted when the run is cancelled: then nothing is decided. */
  readonly signal: AbortSignal
}

/** The decision or the new limit, if there is one, and whether no person was there to ask. */
export interface Decided {
  readonly decision?: Decision
  readonly limit?: Limits
  readonly isUnanswered: boolean
}

/** A field of a form as JSON Schema. A plugin or a server wrote it: an unknown kind is read as text. */
interface Field {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly format?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly enumNames?: readonly string[]
  readonly oneOf?: readonly Titled[]
  readonly anyOf?: readonly Titled[]
  readonly items?: Field
}
interface Titled {
  readonly const?: unknown
  readonly title?: string
}
interface Choice {
  readonly value: unknown
  readonly title: string | undefined
}
/** The typed value in the wanted form; or the wanted form, in words. */
interface Read {
  readonly value?: unknown
  readonly problem?: string
}

/** One question. */
interface Asked {
  readonly kind?: string
  readonly message?: string
  readonly schema?: {
    readonly properties?: Readonly<Record<string, Field>>
    readonly required?: readonly string[]
  }
  readonly messages?: readonly Said[]
  readonly system?: string
  readonly problem?: string
  readonly optional?: boolean
}
interface Said {
  readonly role: string
  readonly content?: string | { readonly type?: string; readonly text?: string }
}
type Talk = Pick<Person, 'ask' | 'note'>

/** The word with which a person declines; any other text is an answer. */
const refusal = '/decline'

/** How often a field is asked for again when what was typed does not fit. */
const maxTries = 3

/** A text of a plugin or a server, indented: its lines must not look like ours. */
const quoted = (text: unknown) => String(text).replaceAll('\n', '\n  | ')

/** The choices of a field, as `{ value, title }`: in each of the forms that MCP has for them. */
function choicesOf(schema: Field): Choice[] {
  const { type, enum: values, enumNames = [], oneOf, anyOf } = schema
  const titled = oneOf ?? anyOf
  if (Array.isArray(titled)) return titled.map(({ const: value, title }) => ({ value, title }))
  if (Array.isArray(values))
    return values.map((value, index) => ({ value, title: enumNames[index] }))
  return type === 'array' && schema.items ? choicesOf(schema.items) : []
}

/** Text as one of the choices: its number, its value or its title. */
function chosen(text: string, choices: readonly Choice[]): Read {
  const byNumber = /^\d+$/.test(text) ? choices[Number(text) - 1] : undefined
  const isNamed = ({ value, title }: Choice) => String(value) === text || title === text
  // A value may itself be a number: it is meant rather than the line it stands in.
  const found = choices.find(isNamed) ?? byNumber
  return found ? { value: found.value } : { problem: `one of 1 to ${choices.length}` }
}

/** Typed text as the schema of the field wants it: `{ value }`, or `{ problem }` in words after "It must be". */
function readField(text: string, schema: Field): Read {
  const choices = choicesOf(schema)
  if (schema.type === 'array') {
    const parts = text.split(',').map((part) => part.trim())
    const read = parts.filter(Boolean).map((part) => chosen(part, choices))
    const wrong = read.find(({ problem }) => problem)
    return wrong ?? { value: read.map(({ value }) => value) }
  }
  if (choices.length > 0) return chosen(text, choices)
  if (schema.type === 'boolean') {
    if (/^(y(es)?|true)$/i.test(text)) return { value: true }
    return /^(no?|false)$/i.test(text) ? { value: false } : { problem: 'yes or no' }
  }
  const value = Number(text)
  if (schema.type === 'integer')
    return Number.isSafeInteger(value) ? { value } : { problem: 'a whole number' }
  if (schema.type === 'number') return Number.isFinite(value) ? { value } : { problem: 'a number' }
  if (schema.type === 'string' || schema.type === undefined) return { value: text }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: 'JSON' }
  }
}

/** A field, as it is put to a person: its name, what it is for, what may be chosen. */
function fieldLines(name: string, schema: Field, isRequired: boolean): string {
  const { title, description, format, default: preset } = schema
  const said = [title, description].filter((text) => text && text !== name).join(': ')
  const notes = [
    [schema.type, format].filter(Boolean).join(', '),
    !isRequired && 'may be left empty',
    preset !== undefined && `empty is ${JSON.stringify(preset)}`,
  ]
  return lines(
    `  ${short(name)}${said && ` — ${short(said)}`} (${short(notes.filter(Boolean).join('; '))})`,
    choicesOf(schema).map(({ value, title: label }, index) => {
      const choice = label === undefined ? short(value) : `${short(label)} (${short(value)})`
      return `    ${index + 1}. ${choice}`
    }),
    schema.type === 'array' && '    several with commas between them',
  )
}

/** One field: `{ value }`, `{}` if it is left out, or `{ action }` if the person answers no more. */
async function askField(
  name: string,
  schema: Field,
  { isRequired, note, ask }: Talk & { readonly isRequired: boolean },
): Promise<{ readonly value?: unknown; readonly action?: 'cancel' | 'decline' }> {
  note(fieldLines(name, schema, isRequired))
  for (let tries = 0; tries < maxTries; tries++) {
    const text = (await ask(`${short(name, 40)}> `))?.trim()
    if (text === undefined) return { action: 'cancel' }
    if (text === refusal) return { action: 'decline' }
    if (text === '' && schema.default !== undefined) return { value: schema.default }
    if (text === '' && !isRequired) return {}
    const { problem, value } = text === '' ? { problem: 'there' } : readField(text, schema)
    if (problem === undefined) return { value }
    note(`  It must be ${problem}.`)
  }
  return { action: 'cancel' }
}

/** A form, field by field. What does not fit is asked again by the server, which checks it. */
async function answerForm({ schema = {} }: Asked, talk: Talk) {
  const { properties = {}, required = [] } = schema
  const content: Record<string, unknown> = {}
  const names = Object.entries(properties)
  if (names.length === 0) {
    const words = await talk.ask('yes or no> ')
    if (words === undefined) return { action: 'cancel' }
    return /^y(es)?$/i.test(words.trim()) ? { action: 'accept', content } : { action: 'decline' }
  }
  for (const [name, field] of names) {
    const given = await askField(name, field, { isRequired: required.includes(name), ...talk })
    if (given.action) return given
    if (given.value !== undefined) content[name] = given.value
  }
  return { action: 'accept', content }
}

/** A person's words; undefined: no person is there, or the person declines. */
async function wordsOf({ ask }: Talk, prompt: string) {
  const words = await ask(prompt)
  return words?.trim() === refusal ? undefined : words
}

function textOf({ role, content }: Said) {
  const { text, type = 'something' } =
    typeof content === 'string' ? { text: content } : (content ?? {})
  return `  ${role}: ${quoted(text ?? `[${type}]`)}`
}

/** Answers a request for a model: this client has none, so only the person can answer. */
async function answerSample({ messages = [], system }: Asked, talk: Talk) {
  if (system) talk.note(`  system: ${quoted(system)}`)
  for (const message of messages) talk.note(textOf(message))
  const text = await wordsOf(talk, 'answer as the model> ')
  if (text === undefined) return undefined
  return { role: 'assistant', content: { type: 'text', text }, model: 'a person at isola chat' }
}

async function answerRoots(_asked: Asked, talk: Talk) {
  const words = await wordsOf(talk, 'folders as file:// addresses, with spaces between them> ')
  return words
    ?.split(/\s+/)
    .filter(Boolean)
    .map((uri) => ({ uri }))
}

interface Kind {
  readonly asks: (asked: Asked) => string
  /** Undefined: no person is there, or the person declines. */
  readonly answer: (asked: Asked, talk: Talk) => Promise<unknown>
}

const kinds: Readonly<Record<string, Kind>> = {
  elicit: {
    asks: ({ message = '' }) => `asks: ${quoted(message)}`,
    answer: answerForm,
  },
  sample: {
    asks: () => 'asks a model of yours; there is none here, but you may answer for it:',
    answer: answerSample,
  },
  roots: {
    asks: () => 'asks which folders it works in.',
    answer: answerRoots,
  },
}

/**
 * Puts everything that a waiting call asks to a person.
 *
 * @returns The decision, and whether no person was there to ask; no decision if the person left.
 */
export async function decideAsks(
  { call, tool, asks, asksHash }: Pause,
  { ask, note, signal }: Person,
): Promise<Decided> {
  const output: Record<string, Json> = {}
  let isUnanswered = false
  const listen = async (prompt: string) => {
    const words = await ask(prompt)
    isUnanswered ||= words === undefined
    return words
  }
  for (const [key, asked] of Object.entries((asks ?? {}) as Readonly<Record<string, Asked>>)) {
    const { kind: name = 'something else' } = asked
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (!kind) return refuse(`This client does not know how to answer ${name}.`)
    const again = asked.problem === undefined ? '' : `\n  Once more: ${quoted(asked.problem)}`
    note(`? ${tool} ${kind.asks(asked)}${again}\n  (${refusal} answers nothing)`)
    const answer = await kind.answer(asked, { note, ask: listen })
    if (signal.aborted) return { isUnanswered: false }
    if (answer === undefined && asked.optional !== true)
      return refuse(isUnanswered ? 'No person is there to answer.' : 'The person did not answer.')
    // Typed text that a schema has read is JSON.
    output[key] = (answer ?? null) as Json
  }
  // An answer holds for the question that was shown, so the hash of that question goes with it.
  return {
    decision: { call, decision: 'result', output, ...defined({ asksHash }) },
    isUnanswered,
  }

  function refuse(message: string): Decided {
    return { decision: { call, decision: 'deny', message }, isUnanswered }
  }
}
