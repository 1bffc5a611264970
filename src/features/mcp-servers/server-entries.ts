import { headOf } from '#contracts/cut.ts'
import { waitingFor } from '#runtime/kernel/types/asks.ts'
import { remoteToolDestroys } from './types.ts'
import { errorCode } from '#contracts/errors.ts'
import type { Json, JsonSchema } from '#contracts/json.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { joinLabels, saidLabel, labelFrom, type Label, type Sink } from '#contracts/label.ts'
import { unlimited } from '#contracts/lease.ts'
import type {
  McpCall,
  McpItem,
  McpPin,
  McpProgress,
  McpServerConfig,
} from '#runtime/catalog/types/mcp.ts'
import type { ToolContext, ToolEntry, ToolFailure, ToolResult } from '#contracts/tool.ts'
import { spanIdOf } from '#contracts/trace.ts'
import { toTraceparent } from '#runtime/session/types/telemetry.ts'
import { createAnswers, type AnswerDeps } from './answers.ts'
import { ownerOf, type AtServer } from './gateway.ts'
import { untilAborted } from './until-aborted.ts'
import type { NamedPlace } from '#contracts/destination.ts'

/** The effects of a server's tool, its destination, and the label of its results. */
interface ServerFlow {
  readonly sinks: readonly Sink[]
  readonly goesTo: () => NamedPlace
  readonly yields: Label
}

/**
 * By the specification: a tool without hints reaches an open world, and changes something there. A claim in the
 * server's own favour counts only where the operator confirmed it at its approval; a closed world counts also where
 * the operator said so.
 *
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `openWorldHint` is true, that of
 * `readOnlyHint` false
 */
export function flowOf(
  { config, confirmed }: Pick<McpPin, 'config' | 'confirmed'>,
  { kind, key, definition, isClosedWorld }: McpItem,
  name: string,
): ServerFlow {
  const hints = Object(definition['annotations']) as Readonly<Record<string, unknown>>
  const isConfirmed = kind === 'tool' && confirmed.includes(key)
  const isOpen = !isClosedWorld && !(isConfirmed && hints['openWorldHint'] === false)
  // A resource or a prompt is read.
  const onlyReads = kind !== 'tool' || (isConfirmed && hints['readOnlyHint'] === true)
  // A tool with an open world may pass on its input: its server is not the last receiver.
  const isHome = onlyReads && hints['openWorldHint'] !== true
  const { origin } = new URL(config.url)
  const place = { origin, ...(isHome && { home: `${config.id}__*` }) }
  const confidentiality = isPublic(config) ? 'public' : 'private'
  const closed =
    confidentiality === 'public'
      ? ({ integrity: 'tool', confidentiality, sources: [] } as const)
      : labelFrom(name, { integrity: 'tool' })
  return {
    sinks: [...(isOpen ? (['egress'] as const) : []), ...(onlyReads ? [] : (['write'] as const))],
    goesTo: () => place,
    yields: isOpen ? labelFrom(name, { confidentiality }) : closed,
  }
}

/** The path of a public server: `/v2/mcp`. A path that opens a server has digits in it, or is long. */
const words = /^(\/(v\d{1,2}|[a-z]{1,20}([-_.][a-z]{1,20}){0,2})?)*$/i

/** Whether a server's texts are public: a request needs no credential, in the address neither. */
function isPublic({ url: text, auth, headers }: McpPin['config']): boolean {
  const { pathname, search, username, password } = new URL(text)
  const isBare = `${search}${username}${password}` === '' && words.test(pathname)
  return auth === 'headers' && Object.keys(headers).length === 0 && isBare
}

/** Whether one call may go on: `signal` fires when the server is switched off, or what was approved of it changes. */
export interface ServerRevocationWatch {
  readonly signal?: AbortSignal
  /** Throws if no call of the run may begin now, or if that cannot be known. */
  readonly check: () => Promise<void>
  readonly end: () => void
}

/** The dependencies of a call of a server's tool. */
export interface EntryDeps extends AnswerDeps {
  readonly at: AtServer<'call' | 'cancel'>
  /** Throws if a call may not begin now. */
  readonly watchRevocation: (pin: McpPin) => Promise<ServerRevocationWatch>
}

/** A longer wait is for connecting and for a list that has to be looked at first. */
export const extraMs = 5_000

/** The approved tools of a server as the registry wants them. */
export function toServerEntries(
  pin: McpPin,
  items: readonly McpItem[],
  deps: EntryDeps,
): readonly ToolEntry[] {
  return items.flatMap((item) => (item.kind === 'tool' ? [toEntry(pin, item, deps)] : []))
}

function toEntry(pin: McpPin, item: McpItem, deps: EntryDeps): ToolEntry {
  const { description, inputSchema, outputSchema, annotations } = item.definition
  const name = `${pin.id}__${item.tool ?? item.key}`
  const hints = hintsOf(item)
  const isConfirmed = pin.confirmed.includes(item.key)
  // A call that spends is not repeated after a crash, although its server claims that it may be.
  const mayRepeat = isConfirmed && !pin.config.allow.sampling
  return {
    tool: {
      name,
      description:
        typeof description === 'string' && description.trim() !== ''
          ? description
          : `The tool ${item.tool} of the MCP server ${pin.id}.`,
      inputSchema: inputSchema as JsonSchema,
      ...(outputSchema && { outputSchema: richOutput(outputSchema) }),
      execute: (input, context) =>
        callServer({ name, pin, item, ask: { do: 'tool', input }, deps }, context),
    },
    isReadOnly: mayRepeat && hints['readOnlyHint'] === true,
    isIdempotent: mayRepeat && hints['idempotentHint'] === true,
    isDestructive: item.isHarmless !== true && remoteToolDestroys(annotations),
    ...flowOf(pin, item, name),
    timeoutMs: pin.config.timeoutMs + extraMs,
    ...spendingOf(pin.config),
    definitionHash: item.hash,
    record: { server: pin.id, tier: 'mcp' },
  }
}

const hintsOf = ({ definition }: McpItem): Readonly<Record<string, unknown>> =>
  Object(definition.annotations)

/** A server's claim in its own favour counts only where the operator confirmed it. */
const isReader = (pin: McpPin, item: McpItem): boolean =>
  item.kind !== 'tool' ||
  (pin.confirmed.includes(item.key) && hintsOf(item)['readOnlyHint'] === true)

/** As `toToolOutcome` has it. */
const richOutput = (structured: Json): JsonSchema => ({
  type: 'object',
  properties: { content: { type: 'array' }, structured },
  required: ['content', 'structured'],
})

const nothing = { maxTokens: 0, maxTurns: 0, maxToolCalls: 0, maxChildren: 0 }

/**
 * The most that one call may spend on models that its server asks: the operator's limit of tokens, at any price the
 * run allows.
 */
export function spendingOf({
  allow: { sampling },
  timeoutMs,
}: McpServerConfig): Pick<ToolEntry, 'spends' | 'inner'> {
  if (!sampling) return {}
  const model = { maxTokens: sampling.maxTokens, maxCostNanoUsd: unlimited }
  const maxTimeMs = timeoutMs + extraMs
  return {
    spends: { ...defaultAgentLimits, ...nothing, ...model, maxTimeMs },
    inner: { resolve: () => undefined, children: 0, model },
  }
}

/** One call of an approved item. */
interface ServerCall {
  readonly name: string
  readonly pin: McpPin
  readonly item: McpItem
  readonly ask: McpCall['ask']
  readonly deps: EntryDeps
}

/** Calls the server's object; a stop of the call here stops it there. Never throws. */
export async function callServer(
  { name, pin, item, ask, deps }: ServerCall,
  context: ToolContext,
): Promise<ToolResult> {
  const watch = await deps.watchRevocation(pin).catch(() => undefined)
  if (!watch) return { ok: false, error: revoked }
  const signal = watch.signal ? AbortSignal.any([context.signal, watch.signal]) : context.signal
  const api = deps.at(pin.id, ownerOf(pin.config, context.principal))
  const answers = createAnswers({ pin, deps }, context)
  const callId = `${context.session} ${context.run} ${context.call}`
  // A signal does not cross RPC.
  const cancel = () => void api.cancel(callId).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const { config, epoch } = pin
    const call: McpCall = {
      callId,
      config,
      rootSession: context.rootSession,
      epoch,
      item,
      ask,
      idempotencyKey: context.idempotencyKey,
      traceparent: toTraceparent({
        trace: context.trace,
        span: spanIdOf(context.run, context.call),
        link: context.traceLink,
      }),
      timeoutMs: config.timeoutMs,
    }
    // Each question of the server checks the grant anew.
    const asked: typeof answers.asked = (what) => watch.check().then(() => answers.asked(what))
    const result = await untilAborted(api.call(call, tellOf(context), asked), signal)
    // Whatever it made of it: it asked, and the answer decides.
    const asks = answers.asks()
    if (asks) return waitingFor(asks, isReader(pin, item))
    const said = context.answers ? (['user'] as const) : []
    const label = joinLabels([flowOf(pin, item, name).yields, ...said.map(() => saidLabel)])
    return result.ok ? { ...result, taint: [...said, `tool:${name}`], label } : { ...result, label }
  } catch {
    return { ok: false, error: whyStopped(name, context.signal, watch.signal) }
  } finally {
    signal.removeEventListener('abort', cancel)
    watch.end()
  }
}

const maxProgress = 100

/** The server's progress, limited in frequency. */
function tellOf({ call, emit, signal }: ToolContext): (progress: McpProgress) => void {
  let count = 0
  return ({ progress, total, message = '' }) => {
    count += 1
    if (signal.aborted || count > maxProgress) return
    const share = total === undefined ? String(progress) : `${progress}/${total}`
    emit({
      type: 'tool_progress',
      data: { call, message: headOf(`${share} ${message}`.trim(), 500) },
    })
  }
}

const revoked: ToolFailure = {
  code: 'tool_denied',
  message: 'This MCP server was switched off, or what was approved of it changed.',
}

function whyStopped(name: string, own: AbortSignal, watch: AbortSignal | undefined): ToolFailure {
  if (watch?.aborted) return revoked
  if (!own.aborted)
    return { code: 'tool_failed', message: `The tool ${name} could not be asked.`, transient: true }
  return errorCode(own.reason) === 'tool_timeout'
    ? { code: 'tool_timeout', message: `The tool ${name} took too long and was stopped.` }
    : { code: 'tool_cancelled', message: `The tool ${name} was cancelled.` }
}
