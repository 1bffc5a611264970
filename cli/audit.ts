// isola audit list: who did what, when, at what cost.

import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, mayPass, type Reply } from '../src/client/client.ts'
import type {
  DeploymentEventData,
  DeploymentEventType,
  EventData,
  EventType,
} from '../src/contracts/event.ts'
import { noun, verb, type Context } from './command.ts'
import { flag, sentOf, text, UsageError } from './options.ts'
import { dollars, jsonText, short, shown, time } from './text.ts'
import { rangeOptions } from './when.ts'

export const sleepUntil = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { signal }).catch(() => {})

/** Does work that goes on until Ctrl-C, or until the signal that a test gives. */
export async function untilStopped(
  given: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const end = () => stop.abort()
  process.on('SIGINT', end)
  try {
    await work(given ?? stop.signal)
  } finally {
    process.removeListener('SIGINT', end)
  }
}

const everyMs = 2_000
const pageRows = 500

type Page = Reply<'GET /api/operator/audit'>
type Entry = Page['records'][number]
type Said = readonly unknown[]

const costOf = (nanoUsd = 0) => (nanoUsd > 0 ? dollars(nanoUsd / 1e9) : undefined)
const seconds = (ms: number | undefined) =>
  ms === undefined ? undefined : `${(ms / 1_000).toFixed(1)} s`
const agentEnd = ({
  agent,
  ...end
}: EventData<'agent_result'> | EventData<'agent_error'>): Said => {
  const { state, code, costEstimateUsd = 0 }: Partial<Record<string, unknown>> = end
  return [agent, state ?? code, costOf(Number(costEstimateUsd) * 1e9)]
}

/** How far a yes goes, where it goes further than its call. */
const reach = ({ scope, rule }: Pick<EventData<'pause_answered'>, 'scope' | 'rule'>): Said =>
  scope === undefined || scope === 'once' ? [] : [`and later (${scope})`, rule]

/** The words for an event, by its type. An event of another type shows all its short fields. */
const what: {
  readonly [Type in EventType]?: (data: EventData<Type>) => Said
} & {
  readonly [Type in DeploymentEventType]?: (data: DeploymentEventData<Type>) => Said
} = {
  run_started: ({ key, depth }) => [depth > 0 && 'sub-agent', key && `with ${key}`],
  // The server's own words are for operators, who read this.
  run_finished: ({ state, turns, code, message, detail }) => [
    state,
    turns !== undefined && `${turns} turn${turns === 1 ? '' : 's'}`,
    code,
    message,
    detail && detail !== message && `(${detail})`,
  ],
  run_parked: ({ pauses = [] }: Partial<EventData<'run_parked'>>) => [
    'waits:',
    // A limit is a pause of no tool.
    pauses.map(({ tool, kind }) => (tool ? `${tool} (${kind})` : kind)).join(', '),
  ],
  pause_answered: ({ tool, answer, by, ...yes }) => [tool, answer, by && `by ${by}`, ...reach(yes)],
  model_called: ({ provider, model, inputTokens, outputTokens, costNanoUsd, durationMs }) => [
    `${provider}/${model}`,
    `${inputTokens}+${outputTokens} tokens`,
    costOf(costNanoUsd),
    seconds(durationMs),
  ],
  model_failed: ({ provider, model, code, bookedTokens, bookedCostNanoUsd }) => [
    `${provider}/${model}`,
    code,
    bookedTokens > 0 && `${bookedTokens} tokens booked`,
    costOf(bookedCostNanoUsd),
  ],
  model_substituted: ({ asked, provider, model }) => [`${provider}/${model}`, `for ${asked}`],
  tool_started: ({ tool }) => [tool],
  tool_finished: ({ tool, ok, code, durationMs }) => [tool, ok ? 'ok' : code, seconds(durationMs)],
  call_denied: ({ tool, reason, rule }) => [tool, reason, rule && `(${rule})`],
  call_decided: ({ tool, decision, owner, session, ...yes }) => [
    tool,
    decision,
    `of ${owner}`,
    session,
    ...reach(yes),
  ],
  approval_rule_revoked: ({ rule, tool, owner }) => [rule, `for ${tool}`, `of ${owner}`],
  limits_changed: ({ run, owner, session, limits }) => [run, `of ${owner}`, session, limits],
  run_cancelled: ({ run, owner, session }) => [run, `of ${owner}`, session],
  session_compacted: ({ session, owner }) => [session, `of ${owner}`],
  session_deleted: ({ session, owner, step }) => [session, `of ${owner}`, step],
  agent_invoked: ({ agent, background }) => [agent, background && 'in the background'],
  agent_result: agentEnd,
  agent_error: agentEnd,
  network_requested: ({ method, host, status, refused }) => [
    method,
    host,
    refused ? `refused: ${refused}` : status,
  ],
  isolate_started: ({ plugin, costNanoUsd }) => [plugin, costOf(costNanoUsd)],
}

const brief = ({ request: _request, ...data }: Entry['data']) =>
  Object.entries(data).flatMap(([key, value]) =>
    value === null ? [] : [`${key}=${short(value, 60)}`],
  )

/** One event as a line: when, who, where, what. */
export function line({ atMs, principal, session, agent, type, data }: Entry): string {
  // The server checks the fields of each type; an event of another version may lack some.
  const known: object = what
  const say: (data: Entry['data']) => Said = Object.hasOwn(known, type)
    ? Reflect.get(known, type)
    : brief
  const said = say(data).filter((part) => part || part === 0)
  return [
    time(atMs),
    (principal || '-').padEnd(10),
    (session || 'deployment').padEnd(26),
    (agent || '-').padEnd(13),
    type.padEnd(17),
    // Reasons are whole; what may be long is cut where it is said.
    short(said.join('  '), 2_000),
  ].join('  ')
}

/** Every record that arrived after `last`, however many: each once, in order. */
async function* arrived(
  { request, stderr, sleep = sleepUntil }: Context,
  query: object,
  { last: from, signal }: { readonly last: number; readonly signal: AbortSignal },
) {
  let last = from
  while (!signal.aborted) {
    let page: Page
    try {
      const asked = { ...query, limit: pageRows, after: last }
      page = await request('GET /api/operator/audit', { query: asked, signal })
    } catch (error) {
      if (signal.aborted) return
      // The rest is a refusal, or a fault here.
      if (!(error instanceof ApiError && mayPass(error))) throw error
      stderr.write(`${shown(error.message)} Trying again.\n`)
      page = { records: [], last }
    }
    yield* page.records
    last = page.last
    if (page.next === undefined) await sleep(everyMs, signal)
  }
}

/** Which types have an outcome that was looked for as a type. */
const typesOf: { readonly [part: string]: string } = {
  tool: '--type tool_finished',
  model: '--type model_failed',
  lease: '--type run_finished',
}
const typesToo = [
  'tool_started',
  'tool_finished',
  'model_called',
  'model_failed',
  'model_substituted',
]

/** A code such as `tool_denied` says how a call ended: no event has it as its type. */
function outcomeHint(type = ''): string {
  const where = typesOf[type.split('_')[0] ?? '']
  if (where === undefined || typesToo.includes(type) || type.includes('*')) return ''
  const more = type === 'tool_denied' ? ', and --type call_denied why it was refused' : ''
  return `${short(type)} is how something ended, not a type: ${where} shows it${more}.\n`
}

export function checkTail(tail: string): void {
  if (!/^\d{1,3}$/.test(tail) || Number(tail) < 1 || Number(tail) > pageRows)
    throw new UsageError(`--tail must be 1 to ${pageRows}.`)
}

const options = {
  tail: text('n', 'so many, 1 to 500; 100 unless set', { to: null }),
  ...rangeOptions,
  principal: text('name', 'whose sessions, or who did it'),
  agent: text('name', 'of one agent'),
  type: text('type', 'tool_finished; or all of them: tool_*'),
  plugin: text('id', 'what one plugin was asked and did'),
  session: text('id', 'of one session; deployment: what is of none'),
  trace: text('id', 'of one trace'),
  follow: flag('go on with what happens, until Ctrl-C; newest last', { to: null }),
  after: text('next', 'go on where the last list ended'),
}

export default noun('audit', {
  list: verb({
    about:
      'Who did what, when, at what cost: the newest first, a moment after it happened. With --json one event a line.',
    options,
    async run(context) {
      const { values, ask, isJson, stdout, signal: ended } = context
      const { tail = '100', follow, since: _since, ...filters } = values
      checkTail(tail)
      if (follow && (values.after !== undefined || values.until !== undefined))
        throw new UsageError('--follow shows what is new: leave out --after and --until.')
      const query = { ...sentOf(options, values), order: 'desc' as const, limit: tail }
      const { records, next, last, sinceMs } = await ask('GET /api/operator/audit', query)
      const show = (record: Entry) =>
        stdout.write(`${isJson ? jsonText(record) : shown(line(record))}\n`)
      if (follow) {
        // New records are added below, so the newest is the last line here.
        records.toReversed().forEach(show)
        return untilStopped(ended, async (signal) => {
          const next = arrived(context, sentOf(options, filters), { last, signal })
          for await (const record of next) show(record)
        })
      }
      records.forEach(show)
      if (isJson) return
      const looked =
        sinceMs === undefined ? '' : ` since ${time(sinceMs)} (--since looks further back)`
      if (records.length === 0) stdout.write(`No records${looked}.\n${outcomeHint(values.type)}`)
      if (next !== undefined) stdout.write(`More: --after ${next}\n`)
    },
  }),
})
