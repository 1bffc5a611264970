// What a plugin or an MCP server asks in the middle of a call: a form, an answer of a model, or places to work in.
import { short } from '../text.ts'

/** What a person types who does not want to answer; no form field, no key press, so that any other text is an answer. */
const refusal = '/decline'

/** How often a field is asked for again when what was typed does not fit. */
const maxTries = 3

const isAbsent = (words) => words === undefined

/** What somebody else wrote, further in: a line of it must not look like one of ours. */
const quoted = (text) => String(text).replaceAll('\n', '\n  | ')

/** The choices of a field, as `{ value, title }`: in each of the forms that MCP has for them. */
function choicesOf(schema) {
  const { type, enum: values, enumNames = [], oneOf, anyOf } = schema
  const titled = oneOf ?? anyOf
  if (Array.isArray(titled)) return titled.map(({ const: value, title }) => ({ value, title }))
  if (Array.isArray(values))
    return values.map((value, index) => ({ value, title: enumNames[index] }))
  return type === 'array' && schema.items ? choicesOf(schema.items) : []
}

/** Text as one of the choices: its number, its value or its title. */
function chosen(text, choices) {
  const byNumber = /^\d+$/.test(text) ? choices[Number(text) - 1] : undefined
  const isNamed = ({ value, title }) => String(value) === text || title === text
  // A value may itself be a number: it is meant rather than the line it stands in.
  const found = choices.find(isNamed) ?? byNumber
  return found ? { value: found.value } : { problem: `one of 1 to ${choices.length}` }
}

/** What a person typed, as the schema of the field wants it: `{ value }`, or `{ problem }` in words after "It must be". */
export function readField(text, schema) {
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
  if (schema.type === 'number' || schema.type === 'integer') {
    const value = Number(text)
    const fits = schema.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
    return fits ? { value } : { problem: schema.type === 'integer' ? 'a whole number' : 'a number' }
  }
  if (schema.type === 'string' || schema.type === undefined) return { value: text }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: 'JSON' }
  }
}

/** A field, as it is put to a person: its name, what it is for, what may be chosen. */
export function fieldLines(name, schema, isRequired) {
  const { title, description, format, default: preset } = schema
  const kind = [schema.type, format].filter(Boolean).join(', ')
  const said = [title, description].filter((text) => text && text !== name).join(': ')
  const notes = [
    kind,
    ...(isRequired ? [] : ['may be left empty']),
    ...(preset === undefined ? [] : [`empty is ${JSON.stringify(preset)}`]),
  ]
  const head = `  ${short(name)}${said && ` — ${short(said)}`} (${short(notes.filter(Boolean).join('; '))})`
  const choices = choicesOf(schema).map(
    ({ value, title: label }, index) =>
      `    ${index + 1}. ${short(label ?? value)}${label === undefined ? '' : ` (${short(value)})`}`,
  )
  const several = schema.type === 'array' ? ['    several with commas between them'] : []
  return [head, ...choices, ...several].join('\n')
}

/** One field: `{ value }`, `{}` if it is left out, or `{ action }` if the person answers no more. */
async function askField(name, schema, { isRequired, note, ask }) {
  note(fieldLines(name, schema, isRequired))
  for (let tries = 0; tries < maxTries; tries++) {
    const words = await ask(`${short(name, 40)}> `)
    if (isAbsent(words)) return { action: 'cancel' }
    const text = words.trim()
    if (text === refusal) return { action: 'decline' }
    if (text === '' && schema.default !== undefined) return { value: schema.default }
    if (text === '' && !isRequired) return {}
    const read = text === '' ? { problem: 'there' } : readField(text, schema)
    if (!read.problem) return read
    note(`  It must be ${read.problem}.`)
  }
  return { action: 'cancel' }
}

/** A form, field by field. What does not fit is asked again by the server, which checks it. */
async function answerForm({ schema = {} }, { note, ask }) {
  const { properties = {}, required = [] } = schema
  const content = {}
  const names = Object.keys(properties)
  if (names.length === 0) {
    const words = await ask('yes or no> ')
    if (isAbsent(words)) return { action: 'cancel' }
    return /^y(es)?$/i.test(words.trim()) ? { action: 'accept', content } : { action: 'decline' }
  }
  for (const name of names) {
    const isRequired = required.includes(name)
    const given = await askField(name, properties[name], { isRequired, note, ask })
    if (given.action) return { action: given.action }
    if (given.value !== undefined) content[name] = given.value
  }
  return { action: 'accept', content }
}

const textOf = ({ role, content }) => {
  const text = typeof content === 'string' ? content : content?.text
  return `  ${role}: ${quoted(text ?? `[${content?.type ?? 'something'}]`)}`
}

/** What a model is asked for: this client has none, so the person answers or nobody does. */
async function answerSample({ messages = [], system }, { note, ask }) {
  if (system) note(`  system: ${quoted(system)}`)
  for (const message of messages) note(textOf(message))
  const words = await ask('answer as the model> ')
  if (isAbsent(words) || words.trim() === refusal) return undefined
  const content = { type: 'text', text: words }
  return { role: 'assistant', content, model: 'a person at isola chat' }
}

async function answerRoots({ ask }) {
  const words = await ask('folders as file:// addresses, with spaces between them> ')
  if (isAbsent(words) || words.trim() === refusal) return undefined
  const uris = words.split(/\s+/).filter(Boolean)
  return uris.map((uri) => ({ uri }))
}

const kinds = {
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
    answer: (_asked, io) => answerRoots(io),
  },
}

/**
 * Puts everything that a waiting call asks to a person.
 *
 * @param options.signal Aborted when the run is cancelled: then nothing is decided.
 * @returns The decision, and whether there was nobody to ask; no decision if the person left.
 */
export async function decideAsks({ call, tool, asks, asksHash }, { ask, note, signal }) {
  const output = {}
  let isUnanswered = false
  const listen = async (prompt) => {
    const words = await ask(prompt)
    isUnanswered ||= isAbsent(words)
    return words
  }
  for (const [key, asked] of Object.entries(asks)) {
    const { [asked.kind]: kind } = kinds
    if (!kind) return refuse(`This client does not know how to answer ${asked.kind}.`)
    const again = asked.problem === undefined ? '' : `\n  Once more: ${quoted(asked.problem)}`
    note(`? ${tool} ${kind.asks(asked)}${again}\n  (${refusal} answers nothing)`)
    const answer = await kind.answer(asked, { note, ask: listen })
    if (signal.aborted) return { isUnanswered: false }
    if (answer === undefined && asked.optional !== true)
      return refuse(isUnanswered ? 'Nobody is there to answer.' : 'The person did not answer.')
    output[key] = answer ?? null
  }
  // What is answered holds for what was shown, so its hash goes with it.
  return { decision: { call, decision: 'result', output, asksHash }, isUnanswered }

  function refuse(message) {
    return { decision: { call, decision: 'deny', message }, isUnanswered }
  }
}
