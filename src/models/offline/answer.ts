import type { Json } from '#contracts/json.ts'
import type { ModelRequest, ToolDefinition } from '#contracts/model.ts'
import { digestOf, digestOfFile } from './digest.ts'
import { asksForReview, isSubAgent, materialOf } from './review.ts'
import { callName, findName, listedIn, type MadeCall, type RunSoFar } from './run-so-far.ts'
import { sampleOf } from './sample.ts'
import { isJsonObject, parametersOf } from './schema-shape.ts'

const maxResultChars = 4_000
const maxListedTools = 30

/** The last line of every answer. */
export const signature = '(Answered by the built-in offline model: fixed rules, no language model.)'

/** The answer as JSON, where that was asked for: by the agent's own schema before a client's. */
function asJson(body: string, { outputSchema, parameters }: ModelRequest): string | undefined {
  const { responseFormat: format } = parameters
  const schema = outputSchema ?? (format?.type === 'json_schema' ? format.schema : undefined)
  if (schema) return JSON.stringify(sampleOf(schema, body))
  return format ? JSON.stringify({ answer: body, note: signature }) : undefined
}

/** What the offline model says when there is nothing (more) to call. */
export function answerFor(run: RunSoFar, request: ModelRequest, notes: readonly string[]): string {
  const body =
    run.calls.length > 0 ? reportOf(run, request, notes) : withoutCalls(run, request, notes)
  return asJson(body, request) ?? `${body}\n\n${signature}`
}

function reportOf(
  { task, calls }: RunSoFar,
  { tools }: ModelRequest,
  notes: readonly string[],
): string {
  const hasCalled = calls.some(({ name }) => name !== findName)
  // What an agent said of it is review enough.
  const isReview = asksForReview.test(task) && !calls.some(({ name }) => name.endsWith('__run'))
  const isReviewer = isReview && isSubAgent(tools)
  const lines = calls
    .filter(({ name }) => name !== findName || !hasCalled)
    .flatMap((call) => {
      const review = isReview ? reviewOf(call) : []
      return isReviewer && review.length > 0 ? review : [lineFor(call), ...review]
    })
  const isOfTask =
    isReviewer && calls.flatMap(reviewOf).length === 0 && materialOf(task) !== undefined
  return [...lines, ...notes, ...(isOfTask ? [digestOf(task)] : [])].join('\n')
}

/** A text that a tool read is looked at where a review was asked for. */
function reviewOf({ name, input: { path }, result }: MadeCall): readonly string[] {
  const output =
    result && !result.isError && isJsonObject(result.output) ? result.output.text : undefined
  const source = typeof path === 'string' ? path : name
  return typeof output === 'string' ? [`${source}: ${digestOfFile(output, source)}`] : []
}

function lineFor({ name, input, result }: MadeCall): string {
  const tool = name === callName && typeof input.name === 'string' ? input.name : name
  if (!result) return `${tool}: no result.`
  if (result.isError) return `${tool} failed: ${errorText(result.output)}`
  return name === findName
    ? foundText(result.output)
    : `${tool}: ${capped(plainText(result.output))}`
}

/** Strings as they are, without the signature of a sub-agent that also was offline. */
function plainText(output: Json): string {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return text.replace(`\n\n${signature}`, '')
}

function errorText(output: Json): string {
  const error = isJsonObject(output) ? (output.error ?? output) : output
  if (!isJsonObject(error)) return capped(plainText(error))
  const { code, message } = error
  const text = typeof message === 'string' ? message : JSON.stringify(error)
  return capped(typeof code === 'string' ? `${text} (${code})` : text)
}

function foundText(output: Json): string {
  const names = listedIn(output)
    .map((hit) => hit.id ?? hit.name)
    .filter((name) => typeof name === 'string')
  return names.length > 0
    ? `I looked for tools and found ${names.join(', ')}, but could not tell what to give them.`
    : 'I looked for tools and found none that fits.'
}

function withoutCalls(
  { task }: RunSoFar,
  { tools }: ModelRequest,
  notes: readonly string[],
): string {
  const isForDigest = tools.length === 0 || materialOf(task) !== undefined
  // Its caller quotes a sub-agent: who it is says the last line.
  if (isSubAgent(tools)) {
    if (isForDigest) return digestOf(task)
    return notes.join('\n') || 'Nothing in the task clearly fits one of my tools.'
  }
  if (isForDigest) return [digestOf(task), '', introduction].join('\n')
  return [...notes, ...(notes.length > 0 ? [''] : []), introduction, ...toolList(tools)].join('\n')
}

const introduction =
  "I am Isola's built-in offline model: a deterministic planner, not a language model. I pick installed tools and agents " +
  'by their descriptions, fill their arguments from your message and report what they answer. For a real model put ' +
  'OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL, into .dev.vars and start again.'

function toolList(tools: readonly ToolDefinition[]): readonly string[] {
  const lines = tools
    .filter(({ name }) => name !== callName && name !== findName)
    .map(({ name, description, inputSchema }) => {
      const parameters = parametersOf(inputSchema)
        .filter(({ isRequired }) => isRequired)
        .map((parameter) => parameter.name)
      return `- ${name}(${parameters.join(', ')}): ${firstSentence(description)}`
    })
  if (lines.length === 0) return []
  const rest = lines.length - maxListedTools
  return [
    '',
    'Tools and agents here:',
    ...lines.slice(0, maxListedTools),
    ...(rest > 0 ? [`- and ${rest} more.`] : []),
  ]
}

const firstSentence = (text: string): string =>
  /^[^\n]{1,200}?(?:[.!?](?=\s|$)|$|(?=\n))/.exec(text)?.[0] ?? text.slice(0, 200)

const capped = (text: string): string =>
  text.length > maxResultChars ? `${text.slice(0, maxResultChars - 1)}…` : text
