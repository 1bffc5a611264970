import { literalsIn, splitSteps } from './offline/steps.ts'
import { headOf } from '#contracts/cut.ts'
import type { ModelRequest, ToolDefinition, ModelReply } from '#contracts/model.ts'
import {
  calledTool,
  isCore,
  isSubAgent,
  type MadeCall,
  type Plan,
  planNext,
} from './offline/plan.ts'
import { isJsonObject, requiredOf, sampleOf } from './offline/schema.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import { outputCap, reservationFor, type TokenEstimator } from './estimate.ts'
import type { ModelBackend } from './estimate.ts'

/** Remarks about code that need no understanding. */
const smells: readonly (readonly [pattern: RegExp, remark: string])[] = [
  [/\b(?:TODO|FIXME)\b/, 'is marked as unfinished (TODO or FIXME)'],
  [/(?<![=!<>])==(?!=)|!=(?!=)/, 'compares with == or !=, which converts types in JavaScript'],
  [/\beval\s?\(|\bnew Function\(/, 'evaluates text as code (eval)'],
  [/^\s{0,80}var /, 'declares a variable with var'],
  [/\bcatch\s?(?:\([^)]{0,80}\)\s?)?\{\s{0,80}\}/, 'swallows an error (empty catch)'],
  [/\bconsole\.log\(|\bdebugger\b/, 'leaves debugging output in'],
]

const asksForReview = /\b(?:review|inspect|check|look at|bugs)/i

/** The code in a task: the text of a block or in code marks, else lines that look like code. */
function codeIn(task: string): string | undefined {
  const marked = splitSteps(task)
    .flatMap(literalsIn)
    .flatMap(({ raw, text }) => (/^[`-]/.test(raw) && !/^[\w./-]+$/.test(text) ? [text] : []))
  if (marked.length > 0) return [...new Set(marked)].join('\n')
  return /[={}]|\w\(|;$/m.test(task)
    ? task.replace(/^[\p{L} ,'-]{1,100}:\s|^\p{L}+\s/u, '')
    : undefined
}

/** The remarks whose patterns match a piece of code. */
function reviewOf(code: string): string {
  const lines = code.trimEnd().split('\n')
  const remarks = smells.flatMap(([pattern, remark]) => {
    const at = lines.flatMap((line, index) => (pattern.test(line.slice(0, 1_000)) ? index + 1 : []))
    const where = `${at.length === 1 ? 'Line' : 'Lines'} ${at.join(', ')}`
    return at.length > 0 ? [`- ${where} ${remark}.`] : []
  })
  const size = `${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`
  return [
    `I looked at ${size} with fixed rules; meaning is beyond me.`,
    ...(remarks.length > 0 ? remarks : ['- None of my rules found anything to report.']),
  ].join('\n')
}

/** The last line of every answer. */
export const signature = '(Answered by the built-in offline model: fixed rules, no language model.)'

const introduction =
  "I am Isola's built-in offline model: a deterministic planner, not a language model. I pick installed " +
  'tools and agents by their descriptions, fill their arguments from your message and report what they answer. ' +
  'For a real model put OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL, into .dev.vars and start again.'

/** The offline model's answer when no call is left; JSON where an agent or a client asked for it. */
function answerFor(plan: Plan, { tools, parameters, outputSchema }: ModelRequest): string {
  const body = (isSubAgent(tools) ? forCaller(plan) : forPerson(plan, tools)).join('\n')
  const { responseFormat: format } = parameters
  const schema = outputSchema ?? (format?.type === 'json_schema' ? format.schema : undefined)
  if (schema) return JSON.stringify(sampleOf(schema, body))
  return format ? JSON.stringify({ answer: body, note: signature }) : `${body}\n\n${signature}`
}

const forPerson = ({ made, notes }: Plan, tools: readonly ToolDefinition[]): readonly string[] =>
  made.length > 0
    ? [...made.map(lineFor), ...notes]
    : [...notes, ...(notes.length > 0 ? [''] : []), introduction, ...toolList(tools)]

/** A sub-agent reviews what it read, or what its task brought along. */
function forCaller({ task, made, notes }: Plan): readonly string[] {
  const isReview = asksForReview.test(task)
  const code = isReview && made.length === 0 ? codeIn(task) : undefined
  if (code !== undefined) return [reviewOf(code)]
  const lines = made.map((call) => {
    const { path } = call.input
    const { text } = isJsonObject(call.output) ? call.output : {}
    const isFile = isReview && typeof path === 'string' && typeof text === 'string'
    return isFile ? `${path}: ${reviewOf(text)}` : lineFor(call)
  })
  const all = [...lines, ...notes]
  return all.length > 0 ? all : ['Nothing in the task clearly fits one of my tools.']
}

/** Strings as they are, without the signature of a sub-agent that was offline too; an error as its message. */
function lineFor(call: MadeCall): string {
  const { output, isError } = call
  const error = isError && isJsonObject(output) ? output.error : undefined
  const { message, code } = isJsonObject(error) ? error : {}
  const plain = typeof output === 'string' ? output : JSON.stringify(output)
  const text = typeof message === 'string' ? `${message} (${String(code)})` : plain
  const said = text.replace(`\n\n${signature}`, '')
  const short = said.length > 4_000 ? `${headOf(said, 3_999)}…` : said
  return `${calledTool(call)}${isError ? ' failed' : ''}: ${short}`
}

function toolList(all: readonly ToolDefinition[]): readonly string[] {
  const shown = all.filter((tool) => !isCore(tool))
  const lines = shown.map(({ name, description, inputSchema }) => {
    const required = requiredOf(inputSchema).map((one) => one.name)
    const about = /^[^\n]{1,200}?(?:[.!?](?=\s|$)|$|(?=\n))/.exec(description)?.[0] ?? ''
    return `- ${name}(${required.join(', ')}): ${about}`
  })
  return lines.length > 0 ? ['', 'Tools and agents here:', ...lines] : []
}

export const offlineModelName = 'offline'

/**
 * The model of a clone without a key: deterministic, no network, works with whatever is installed.
 *
 * It reads steps out of the message, picks a tool for each by the agents' own search, fills arguments by schema from
 * what was said (never invents one), and answers from the results. It says what it is in every answer. It is no
 * judge of anything: for development and for tests only.
 */
export function createOfflineModel(options: {
  readonly buildIndex: BuildSearchIndex
  readonly tokens: TokenEstimator
}): ModelBackend {
  const { buildIndex, tokens } = options

  function decide(request: ModelRequest): Pick<ModelReply, 'text' | 'toolCalls' | 'finishReason'> {
    const plan = planNext(request, buildIndex)
    if (plan.next) {
      const id = `call_${plan.made.length + 1}_${plan.next.name}`
      return { text: '', toolCalls: [{ id, ...plan.next }], finishReason: 'tool_calls' }
    }
    const answer = answerFor(plan, request)
    const text = withinCap(answer, outputCap(request), tokens)
    return { text, toolCalls: [], finishReason: text === answer ? 'stop' : 'length' }
  }

  return {
    id: 'offline',
    estimate: (request) => reservationFor(tokens.ofRequest(request), request),
    priceOf: () => free,

    // Nothing here waits: one answer takes milliseconds, and a signal is looked at before it.
    async generate(request, { signal, onDelta, onSent, onBegun }) {
      onSent()
      signal.throwIfAborted()
      onBegun()
      const { text, toolCalls, finishReason } = decide(request)
      for (const word of text.match(/^\s+|\S+\s*/g) ?? []) onDelta(word)
      const inputTokens = tokens.ofRequest(request)
      const calls = toolCalls.length > 0 ? tokens.ofText(JSON.stringify(toolCalls)) : 0
      const outputTokens = tokens.ofText(text) + calls
      const usage = { inputTokens, outputTokens, costNanoUsd: 0, priced: true, estimated: false }
      return { text, toolCalls, finishReason, usage, provider: 'offline', model: offlineModelName }
    },
  }
}

const free = { inputUsdPerMillion: 0, outputUsdPerMillion: 0, source: 'built in' }

/** Cut so that it stays within what was reserved. */
function withinCap(text: string, cap: number, tokens: TokenEstimator): string {
  let cut = text
  while (cut !== '' && tokens.ofText(cut) > cap) cut = headOf(cut, cut.length * 0.8)
  return cut
}
