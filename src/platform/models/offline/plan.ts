import type { Json, JsonObject } from '#contracts/json.ts'
import {
  isJsonObject,
  parametersOf,
  requiredOf,
  toValue,
  type Parameter,
  sampleOf,
} from './schema.ts'
import { literalsIn, unmask, type Step, splitSteps } from './steps.ts'
import { type Candidate, createToolChooser } from './tool-choice.ts'
import { headOf } from '#contracts/cut.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest, ModelToolCall, ToolDefinition } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'

// The purpose of a parameter, by its name.
const takesTask = /^(?:task|prompt|instructions?|request|question)$/i
const takesQuery = /^(?:q|query|search|topic|keywords?)$/i
const takesText = /^(?:text|message|contents?|body|note|fact|comment|data|value)$/i
const takesKey = /^(?:key|name|id|label|title)$/i
const takesPath = /(?:^|_)(?:path|file|filename)$/i
const takesUrl = /(?:^|_)(?:url|uri|link)$/i

/** Words for what the step before this one gave. */
const earlier = /\b(?:it|them|the (?:result|output|answer|page|text|content|response))\b/i
const onlyEarlier = new RegExp(`^${earlier.source}$`, 'i')
const path =
  /(?<=^|\s)(?:[\w@~.-]*(?:\/[\w@.-]+)+|[\w-][\w.-]*\.[a-z][a-z0-9]{0,4})(?=$|[\s,;:.!?])/i
const articles = /^(?:(?:the|a|an|my|key|value|file|name|that|about|of)(?: |: ?))+/i
const links = '(?:to|under|of|in|into|and|from|with|as|at|for|on|by|is)'
// A name and its value in a step.
const stated = /^(?:set|change) (?<name>.+?) (?:to|=|as) (?<value>.+)$/i
const placed = /^\S+ (?<value>.+) (?:under|as|into|to|in) (?<name>.+)$/i

interface Filled {
  readonly input: JsonObject
  /** Required arguments that were not said. */
  readonly missing: readonly string[]
}

/**
 * Fills a tool's arguments from what the step says; never invents one.
 *
 * @param previous What the step before gave, for "it" and "the text".
 */
function fillArguments({ tool, step, rest }: Candidate, previous?: string): Filled {
  const required = requiredOf(tool.inputSchema).map(({ name }) => name)
  // A sole required argument may take the rest of the step; one of several may not.
  const said = { step, previous, rest: required.length === 1 ? rest : undefined }
  const json = /^[^{]*(\{.*\})$/s.exec(unmask(step, 'raw'))?.[1] ?? ''
  const given = toValue({ type: 'object' }, json)
  const values = parametersOf(tool.inputSchema).flatMap((one) => {
    const value = valueFor(one, said)
    return value === undefined ? [] : [[one.name, value] as const]
  })
  const input = isJsonObject(given) ? given : Object.fromEntries(values)
  return { input, missing: required.filter((name) => !Object.hasOwn(input, name)) }
}

interface Said extends Pick<Candidate, 'step' | 'rest'> {
  readonly previous: string | undefined
}

function valueFor(
  { name, schema, isRequired }: Parameter,
  { step, previous, rest }: Said,
): Json | undefined {
  const words = unmask(step)
  const texts = literalsIn(step).map(({ text }) => text)
  if (takesUrl.test(name)) return texts.find((text) => URL.canParse(text))
  if (takesPath.test(name)) return path.exec(words)?.[0]
  const link = `(?:=|: ?| (?:is |to |= )?)(?:the )?(?!${links}\\b)`
  const named = new RegExp(`${word(name)}${link}([\\ue000-\\uf8ff]|[^\\s,;]+)`, 'iu').exec(
    step.text,
  )
  const value = named?.[1] && toValue(schema, phraseOf(named[1], step))
  if (value !== undefined) return value
  if (Array.isArray(schema.enum)) return schema.enum.find((one) => says(words, String(one)))
  if (schema.type === 'boolean' && says(words, name))
    return !says(words, `no ${name}`) && !says(words, `without ${name}`)
  if (takesQuery.test(name)) return / (?:about|for|on) (.+)$/i.exec(words)?.[1]
  if (!isRequired) return undefined
  if (takesTask.test(name))
    return [unmask(step, 'raw'), earlier.test(step.text) && previous].filter(Boolean).join('\n\n')
  if (schema.type === 'integer' || schema.type === 'number')
    return toValue(schema, /(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.])/.exec(words)?.[0] ?? '')
  const pair = rest ? undefined : (stated.exec(step.text) ?? placed.exec(step.text))?.groups
  if (takesText.test(name)) {
    const phrase = { ...step, text: pair?.value ?? rest?.text ?? '' }
    if (onlyEarlier.test(phrase.text)) return previous
    if (phrase.text.startsWith('that ')) return unmask(phrase).slice(5)
    const [literal] = literalsIn(phrase.text === '' ? step : phrase)
    return toValue(schema, literal?.text ?? (pair ? phraseOf(phrase.text, step) : unmask(phrase)))
  }
  const phrase = phraseOf(pair?.name ?? rest?.text ?? '', step)
  const isKey = takesKey.test(name) && /^\S+$/.test(phrase) && !path.test(phrase)
  return isKey || (rest && name !== 'key') ? toValue(schema, phrase) : undefined
}

/** Its words without articles, literals without their marks. */
const phraseOf = (text: string, step: Step): string =>
  unmask({ ...step, text: text.replace(articles, '') }).trim()

/** The name as a word, however it is joined. */
const word = (name: string): string => {
  const escaped = name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  return `(?<![\\p{L}\\p{N}])${escaped.replace(/[ _-]+/g, '[ _-]?')}(?![\\p{L}\\p{N}])`
}

const says = (words: string, one: string): boolean => new RegExp(word(one), 'iu').test(words)

/** Names of the two tools behind which everything else is found. */
const findName = 'isola__find'
const callName = 'isola__call'

type Call = Omit<ModelToolCall, 'id'>

/** A call that this run has made, with what came back. */
export type MadeCall = Call & Pick<Extract<Message, { role: 'tool' }>, 'output' | 'isError'>

export interface Plan {
  readonly task: string
  /** The calls so far, in order, without the search for tools. */
  readonly made: readonly MadeCall[]
  /** `undefined`: answer now. */
  readonly next?: Call | undefined
  /** The steps that are not done, each with the reason. */
  readonly notes: readonly string[]
}

/**
 * Decides the next call from the task, the tools and the calls so far: one call for each step of the task, in order.
 * A pure function that reads the same steps in every turn, so it cannot loop.
 */
export function planNext(request: ModelRequest, buildIndex: BuildSearchIndex): Plan {
  const { task, calls } = readRun(request)
  const { toolChoice = 'auto' } = request.parameters
  const steps = splitSteps(task)
  const search = calls.find(({ name }) => name === findName)
  const made = calls.filter((call) => call !== search)
  const own = request.tools.filter((tool) => !isCore(tool))
  const found = toolsIn(search?.output)
  const choosers = [own, found].map((tools) => createToolChooser(tools, buildIndex))
  const notes: string[] = []

  /** The best tool whose arguments were said, else the best one. */
  function resolve(step: Step, previous: string | undefined) {
    const candidates = choosers
      .flatMap((choose) => choose(step))
      .map((candidate) => ({ ...candidate, ...fillArguments(candidate, previous) }))
      .filter(({ isClear, input, missing }) => isClear || missing[0] || Object.keys(input)[0])
    return candidates.find(({ missing }) => missing.length === 0) ?? candidates[0]
  }

  function nextCall(): Call | undefined {
    let done = 0
    for (const step of steps) {
      const last = made[done - 1]
      const best = resolve(step, last && textOf(last.output))
      if (last?.isError) {
        notes.push(`I did not try "${quoted(step)}", since ${calledTool(last)} failed.`)
      } else if (best?.missing.length === 0) {
        const call = { name: best.tool.name, input: best.input }
        if (done === made.length)
          return found.includes(best.tool) ? { name: callName, input: call } : call
        done += 1
      } else if (isRequest(step)) {
        if (!search && !isSubAgent(request.tools))
          return { name: findName, input: { queries: steps.slice(0, 8).map(quoted) } }
        const lack = best && `the message does not say its ${best.missing.join(', ')}.`
        if (lack) notes.push(`I did not call ${best.tool.name}: ${lack}`)
        else notes.push(`No installed tool clearly fits "${quoted(step)}".`)
      }
    }
    return undefined
  }

  const next = nextCall()
  const plan = { task, made, notes, next: toolChoice === 'none' ? undefined : next }
  // A caller insists on the first call only: insisted on for ever, it would be made for ever.
  if (calls.length > 0 || toolChoice === 'auto' || toolChoice === 'none') return plan
  const isMeant = ({ name }: Pick<Call, 'name'>) =>
    toolChoice === 'required' || name === toolChoice.tool
  const forced = own.find(isMeant)
  if (!forced || (next && isMeant(next))) return plan
  const [step = { text: '', literals: [] }] = steps
  // Only here arguments are made up: a sample of the schema for what was not said.
  const sample = sampleOf({ ...forced.inputSchema, type: 'object' }, task)
  const said = fillArguments({ tool: forced, step, isClear: true }).input
  const input = { ...(isJsonObject(sample) && sample), ...said }
  return { ...plan, next: { name: forced.name, input } }
}

/** The current task and its calls: everything after the last user message. */
function readRun({ messages }: ModelRequest) {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  const [asked, ...since] = messages.slice(start)
  const inputs = since.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))
  const calls = since.flatMap((one): readonly MadeCall[] => {
    const call = one.role === 'tool' ? inputs.find(({ id }) => id === one.callId) : undefined
    return one.role === 'tool' && call ? [{ ...one, ...call }] : []
  })
  return { task: asked?.role === 'user' ? asked.text : '', calls }
}

/** The runtime's own tools are means: no step of a task asks for them. */
export const isCore = ({ name }: { readonly name: string }): boolean => name.startsWith('isola__')

/** Only the orchestrator can look for what is not pinned. */
export const isSubAgent = (tools: readonly ToolDefinition[]): boolean =>
  !tools.some(({ name }) => name === findName)

/** The tool that was meant, also where it was called by its name. */
export const calledTool = ({ name, input }: Call): string =>
  name === callName && typeof input.name === 'string' ? input.name : name

/** Asks for something to be done: no question, and more than a word. */
const isRequest = ({ text }: Step): boolean =>
  / /.test(text) && !/^(?:what|who|why|how|when|where|which|is|are|am|do|does|did)\b/i.test(text)

const quoted = (step: Step): string => headOf(unmask(step), 80)

/** A result as a later step may use it: the text in it, if it is about one text, else the JSON. */
function textOf(output: Json): string {
  const text = isJsonObject(output) ? (output.text ?? output.content ?? output.result) : output
  return typeof text === 'string' ? text : JSON.stringify(output)
}

/** The tools in the answer of `isola__find`. */
const toolsIn = (output: Json | undefined): readonly ToolDefinition[] =>
  (isJsonObject(output) && Array.isArray(output.tools) ? output.tools : [])
    .filter(isJsonObject)
    .flatMap(({ id: name, description, input_schema: inputSchema }) =>
      typeof name === 'string' && typeof description === 'string' && isJsonObject(inputSchema)
        ? [{ name, description, inputSchema }]
        : [],
    )
