// isola session …: conversations, their runs, and what fills the window of their model.

import type { Client, Reply } from '../src/client/client.ts'
import { dollars, lines, table, listed, short, time } from './text.ts'
import { noun, on, verb } from './command.ts'
import { flag, rehearsal, text, whose } from './options.ts'
import { exportSession } from './session-export.ts'
import { flatten, wholeTree, type Tree } from './whole-tree.ts'

// The contents of a session's window, and the result of a compaction: for isola chat and isola session.

/** The context that a model would be sent next. */
export const readContext = (request: Client['request'], id: string) =>
  request('GET /api/sessions/:id/context', { params: { id } })

/** Compacts what was said, at rest. */
export const compactSession = (request: Client['request'], id: string, model?: string) =>
  request('POST /api/sessions/:id/compact', { params: { id }, body: model ? { model } : {} })

const names: Readonly<Record<string, string>> = {
  instructions: 'instructions',
  added_by_plugins: 'added by plugins',
  tools: 'tools',
  user_messages: 'messages of the user',
  assistant_messages: 'messages of the agent',
  tool_results: 'results of tools',
  cleared_results: 'results behind handles',
  summary: 'summary of what was before',
}
const share = (part: number, whole: number) =>
  whole > 0 ? `${Math.round((part / whole) * 100)} %` : ''

export function describeContext(view: Reply<'GET /api/sessions/:id/context'>): string {
  const { model, tokens, windowTokens, startTokens, targetTokens, parts, costUsd } = view
  const whole = windowTokens ?? tokens
  return lines(
    table([
      ['part', 'count', 'tokens', windowTokens === undefined ? 'of it' : 'of the window'],
      ...parts.map(({ kind, tokens: own, count }) => [
        names[kind] ?? kind,
        count,
        own,
        share(own, whole),
      ]),
      ['in all', '', tokens, share(tokens, whole)],
    ]),
    model === undefined ? 'No model would answer.' : `The next request goes to ${model}.`,
    windowTokens === undefined
      ? 'How much it takes is not known: it is compacted when it is refused as too long, or on request.'
      : `It takes ${windowTokens} tokens; from ${startTokens} on it is compacted, to ${targetTokens}.`,
    costUsd &&
      `It costs ${dollars(costUsd.input)}, with the longest answer ${dollars(costUsd.atMost)}.`,
  )
}

export function describeCompaction({
  compaction,
}: Reply<'POST /api/sessions/:id/compact'>): string {
  const { tokensBefore, tokensAfter, stage, by, left, costNanoUsd, callCostNanoUsd } = compaction
  const how =
    stage === 'results'
      ? `${left.results} results of tools are behind handles`
      : `${left.messages} messages are in a summary ${by === 'model' ? 'by the model' : 'by rule'}`
  const spent = costNanoUsd > 0 ? ` It cost ${dollars(costNanoUsd / 1e9)}.` : ''
  const next = callCostNanoUsd
    ? ` The next request: ${dollars(callCostNanoUsd.before / 1e9)} before, ${dollars(callCostNanoUsd.after / 1e9)} now.`
    : ''
  return `${tokensBefore} tokens before, ${tokensAfter} now: ${how}.${spent}${next}`
}

/** Which agent has the conversation, or had it last. */
function describeHandoff(handoff: Reply<'POST /api/sessions/:id/reclaim'>): string {
  const { holder, state, reason, messages, maxMessages, tokens, costUsd, untilMs } = handoff
  const took = `${messages} of ${maxMessages} messages, ${tokens} tokens, ${dollars(costUsd)}`
  return state === 'held'
    ? `${holder} has the conversation until ${time(untilMs)} (${took})`
    : `${holder} had the conversation until ${time(handoff.endedAtMs ?? 0)}: ${reason} (${took})`
}

function runLine({ id, state, result, pauses = [] }: Tree['runs'][number]): string {
  const { error } = result ?? {}
  const waits = pauses.map(
    ({ call, tool, kind, input, reached }) =>
      reached?.message ?? `${kind} of ${tool} (${call}): ${short(input, 60)}`,
  )
  // A reason is whole; the transcript has its text.
  const why = error ? `${error.code}: ${error.message}` : waits.join('; ')
  const said = why === '' ? short(result?.result ?? '', 100) : short(why, Infinity)
  return `${id}  ${state}${said ? `  ${said}` : ''}`
}

/** A session and what hangs below it, indented. */
export function describe(tree: Tree, indent = ''): string {
  const { id, agent, principal, createdAtMs, runs, floor, usage, costEstimateUsd, children } = tree
  const tokens = usage.inputTokens + usage.outputTokens
  const cost = costEstimateUsd === undefined ? '' : `, ${dollars(costEstimateUsd)}`
  const owner = principal === undefined ? '' : `  of ${principal}`
  const spent = Number.isFinite(tokens) ? `  ${tokens} tokens${cost}` : ''
  return lines(
    `${indent}${id}  ${agent}${owner}  since ${time(createdAtMs)}${spent}`,
    floor && `${indent}  ${describeHandoff(floor)}`,
    runs.map((run) => `${indent}  ${runLine(run)}`),
    children.map((child) => describe(child, `${indent}    `)),
  )
}

function listing({ sessions, next }: Reply<'GET /api/sessions'>, hasOthers: boolean) {
  const table = listed(sessions, 'No sessions.', {
    session: 'id',
    agent: 'agent',
    ...(hasOthers && { principal: 'principal' as const }),
    runs: 'runs',
    'last run': 'state',
    made: 'createdAtMs',
    used: 'usedAtMs',
  })
  return table + (next === undefined || sessions.length === 0 ? '' : `\nMore: --after ${next}`)
}

const isOver = ({ state }: { readonly state: string }) =>
  !['queued', 'running', 'parked'].includes(state)

/** The runs that a cancel means, each with its session. */
async function toCancel(request: Client['request'], id: string, only: string | undefined) {
  const all = flatten(await wholeTree(request, id)).flatMap(({ id: session, runs }) =>
    runs.map(({ id: run, state }) => ({ run, state, session })),
  )
  // A run in the background outlives the run that started it: each is stopped in its own session.
  if (only === undefined) return all.filter((one) => !isOver(one))
  return [all.find(({ run }) => run === only) ?? { run: only, state: 'not in it', session: id }]
}

export default noun('session', {
  list: on('GET /api/sessions', {
    about:
      'Your sessions, newest first, a moment after what happened in them. Those of sub-agents are in ' +
      "their parent's tree.",
    options: {
      ...whose,
      agent: text('name', 'with this agent'),
      state: text('state', 'of the last run: running, parked, completed, …'),
      limit: text('n', '1 to 500'),
      after: text('next', 'go on where the last list ended'),
      stateless: flag('also sessions of single calls, which are gone in an hour'),
    },
    says: (answer, { values: { all, principal } }) =>
      listing(answer, all === true || principal !== undefined),
  }),
  show: verb({
    usage: '<session>',
    about: 'The session, its runs and its sub-agents, with usage and cost.',
    async run({ args: [id], request, print }) {
      const tree = await wholeTree(request, id)
      print(tree, describe(tree))
    },
  }),
  context: on('GET /api/sessions/:id/context', {
    usage: '<session>',
    about:
      'What fills the window of its model: instructions, tools, each kind of message, with tokens, and what ' +
      'the next request costs.',
    says: describeContext,
  }),
  compact: on('POST /api/sessions/:id/compact', {
    usage: '<session>',
    about:
      'Makes room in its window: a summary stands for what was said before. Nothing is lost; refused while a ' +
      'run is not over.',
    options: { model: text('name', 'that writes the summary') },
    sends: {},
    says: describeCompaction,
  }),
  export: exportSession,
  cancel: verb({
    usage: '<session> [<run>]',
    about:
      'Stops a run, or all that run or wait in it, sub-agents included. What ended stays as it ended.',
    options: { reason: text('text', 'shown with the run'), ...rehearsal },
    async run({ args: [id, only], values, request, ask, print, sent }) {
      const meant = await toCancel(request, id, only)
      const nothing = 'Nothing runs or waits in it.'
      if (values['dry-run']) {
        const told = meant.map(({ run, state, session }) => `${run}  ${state}  of ${session}`)
        return print(meant, told.length > 0 ? lines('Would be cancelled:', told) : nothing)
      }
      const views = []
      for (const { run, session } of meant)
        views.push(await ask('POST /api/sessions/:id/runs/:run/cancel', sent(), [session, run]))
      print(views, views.map(({ id: run, state }) => `${run}  ${state}`).join('\n') || nothing)
    },
  }),
  reclaim: on('POST /api/sessions/:id/reclaim', {
    usage: '<session>',
    about:
      'Takes the conversation back from the agent that it was handed to; what it is doing is cancelled.',
    says: describeHandoff,
  }),
  delete: verb({
    usage: '<session>',
    about: 'Cancels what runs and deletes the session with its sub-agents.',
    options: rehearsal,
    asks: ({ args: [id] }) => `Delete ${short(id)}, its sub-agents and all they said?`,
    async run({ args: [id], values, request, ask, print }) {
      if (!values['dry-run'])
        return print(await ask('DELETE /api/sessions/:id'), `${id} is deleted.`)
      const tree = await wholeTree(request, id)
      print(tree, `Would be deleted:\n${describe(tree)}`)
    },
  }),
})
