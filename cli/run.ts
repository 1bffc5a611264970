// isola run …: runs, by their ids alone; with --given-up runs that were given up after too many interruptions.

import { type Telling, noun, verb } from './command.ts'
import { shown, dollars, lines, listed, messageOf, short, time } from './text.ts'
import type { Client, Reply } from '../src/client/client.ts'
import { unless } from './connection.ts'
import { limitNames, limitOptions, limitsOf, limitUsage } from './limit-options.ts'
import { flag, rehearsal, text, UsageError } from './options.ts'
import { describe } from './session.ts'
import { toldWaiting, waitingOf, waitingOfRun } from './approval-find.ts'
import { childrenOf, wholeTree, type Tree } from './whole-tree.ts'

// How a run ended, for the terminal: its answer on the standard output, anything else on the error output.

/** Exit code of a run that waits for a decision: neither done nor failed. */
export const waitsCode = 3

interface Ended {
  readonly run: string
  readonly state: string
  readonly result: string
  readonly error?: { readonly code: string; readonly message: string } | undefined
  /** Whether it can still be looked at. */
  readonly isKept: boolean
}

/**
 * @param value What --json shows, however it ended.
 * @returns The exit code: 0 for a completed run, else 1.
 */
export function tellEnd(
  { run, state, result, error, isKept }: Ended,
  value: unknown,
  { isJson, print, stdout, stderr }: Telling,
): number {
  if (isJson) print(value)
  if (state === 'completed') {
    if (!isJson) stdout.write(`${shown(result)}\n`)
    return 0
  }
  const why = error ? `${error.code}: ${error.message}` : `The run is ${state}.`
  // A text of an unfinished run is no answer: a program that reads the standard output must not take it for one.
  const said = result !== '' && result !== error?.message ? [result] : []
  const next = isKept ? [`  isola run show ${run}`] : []
  stderr.write(`${shown([...said, why, ...next].join('\n'))}\n`)
  return 1
}

type View = Reply<'GET /api/runs/:run'>

/** A run by its id alone, or in a session that was named, which knows runs that the record has no more. */
const read = (request: Client['request'], run: string, session?: string): Promise<View> =>
  session === undefined
    ? request('GET /api/runs/:run', { params: { run } })
    : request('GET /api/sessions/:id/runs/:run', { params: { id: session, run } })

/** The arguments of a verb that takes a run alone, or a session and its run. */
const named = ([first = '', second]: readonly (string | undefined)[]) =>
  second === undefined ? { run: first } : { session: first, run: second }

/** `name  value` in lines, without the fields that are empty. */
function fieldLines(fields: Readonly<Record<string, unknown>>, width?: number) {
  const widest = width ?? Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields).flatMap(([name, value]) =>
    value ? [`${name.padEnd(widest)}  ${value}`] : [],
  )
}

function described(view: View, tree: Tree | undefined) {
  const { id, session, agent, state, createdAtMs, result } = view
  const { error, finishedAtMs, usage, costEstimateUsd, steps } = result ?? {}
  const below = childrenOf(tree, id)
  const waiting = [...waitingOfRun(session, view), ...below.flatMap((child) => waitingOf(child))]
  const spent =
    usage &&
    `${usage.inputTokens + usage.outputTokens} tokens (${usage.inputTokens} in, ${usage.outputTokens} out), ` +
      `${steps} turns`
  const fields = {
    run: id,
    session,
    agent,
    principal: tree?.principal,
    state,
    error: error && `${error.code}: ${error.message}`,
    begun: time(createdAtMs),
    ended: time(finishedAtMs),
    cost: spent && `${dollars(costEstimateUsd ?? 0)}, ${spent}`,
    trace: result?.trace,
    answer: short(result?.result ?? '', 400),
  }
  return lines(
    fieldLines(fields, 9),
    below.length > 0 && ['sub-agents', ...below.map((child) => describe(child, '  '))],
    waiting.length > 0 && toldWaiting(waiting),
  )
}

function givenUpText({ view, ...rest }: Reply<'GET /api/operator/runs/:run'>) {
  const { state = 'the session is gone' } = view ?? {}
  const fields = Object.entries({ ...rest, 'state of the run': state })
  return lines(
    fieldLines(
      Object.fromEntries(
        fields.map(([name, value]) => [name, /atMs$/i.test(name) ? time(value) : short(value)]),
      ),
    ),
  )
}

/** Says where to look, where the run is not one that was given up. */
const ofGivenUp = (error: unknown): never => {
  unless(404)(error)
  throw new Error(
    `${messageOf(error)} isola run list --given-up has those that retry and drop take.`,
    { cause: error },
  )
}

export default noun('run', {
  list: verb({
    about:
      'Your runs, the last of each session: those under way first. --given-up: runs that wait for an operator ' +
      'to retry or drop them.',
    options: {
      'given-up': flag(
        'instead: runs that were given up after too many interruptions (operators)',
        { to: null },
      ),
      principal: text('name', 'runs of another principal, or * (operators, auditors)'),
      agent: text('name', 'with this agent'),
      state: text(
        'state',
        'running, parked, completed …; with --given-up open (unless named), retried or dropped',
      ),
      limit: text('n', '1 to 20; with --given-up to 500'),
      after: text('next', 'go on where the last list ended'),
    },
    async run({ values, ask, print, sent }) {
      // The server refuses an unknown state.
      const query = sent()
      if (values['given-up']) {
        const other = (['principal', 'agent', 'after'] as const).find(
          (name) => values[name] !== undefined,
        )
        if (other) throw new UsageError(`--${other} is not of --given-up.`)
        const answer = await ask('GET /api/operator/runs', query)
        const table = listed(answer.runs, 'No run was given up.', {
          run: 'run',
          session: 'session',
          agent: 'agent',
          state: 'state',
          'given up': 'atMs',
        })
        return print(answer, table)
      }
      const answer = await ask('GET /api/runs', query)
      const table = listed(answer.runs, 'No runs.', {
        run: 'id',
        session: 'session',
        agent: 'agent',
        ...(values.principal && { principal: 'principal' as const }),
        state: 'state',
        begun: 'startedAtMs',
        tokens: ({ usage }) => usage && usage.inputTokens + usage.outputTokens,
      })
      const more = answer.next === undefined ? '' : `\nMore: --after ${answer.next}`
      const how = '\n\nThe last run of each session. isola run show|cancel <run> shows or ends one.'
      print(answer, answer.runs.length === 0 ? table : table + more + how)
    },
  }),
  show: verb({
    usage: '[<session>] <run>',
    about: 'Any run of yours: state, error, cost, sub-agents, and what it waits for.',
    async run({ args, request, ask, print }) {
      const { run, session } = named(args)
      let view: View
      try {
        view = await read(request, run, session)
      } catch (error) {
        if (session !== undefined) throw error
        unless(404)(error)
        // The list of runs that were given up may know a run that no session has any more.
        const found = await ask('GET /api/operator/runs/:run').catch(unless(403, 404))
        if (!found) throw error
        return print(found, givenUpText(found))
      }
      const tree = await wholeTree(request, view.session).catch(unless(404))
      print({ ...view, children: childrenOf(tree, view.id) }, shown(described(view, tree)))
    },
  }),
  cancel: verb({
    usage: '[<session>] <run>',
    about: 'Stops it, sub-agents included. One that ended stays as it ended.',
    options: { reason: text('text', 'shown with the run'), ...rehearsal },
    async run({ args, values, request, ask, print, sent }) {
      const asked = named(args)
      const found = await read(request, asked.run, asked.session)
      if (values['dry-run'])
        return print(found, `Would be cancelled:\n${found.id}  ${found.state}  of ${found.session}`)
      const where = [found.session, found.id]
      const view = await ask('POST /api/sessions/:id/runs/:run/cancel', sent(), where)
      print(view, `${view.id}  ${view.state}`)
    },
  }),
  raise: verb({
    usage: `[<session>] <run> ${limitUsage}`,
    about:
      'What the run may spend from now on, in all; one that waits at a limit goes on. Lower is possible too.',
    options: limitOptions,
    async run({ args, values, request, ask, print }) {
      const body = limitsOf(values)
      if (!body) throw new UsageError(`Name a limit: --${limitNames.join(', --')}.`)
      const { run, session } = named(args)
      const id = session ?? (await read(request, run)).session
      const view = await ask('POST /api/sessions/:id/runs/:run/limits', body, [id, run])
      const still = view.pauses?.find(({ kind }) => kind === 'budget')
      const waits = still ? `${short(run)} still waits: ${still.reached?.message}` : ''
      print(view, waits || `${run} has its new limits; it is ${view.state}.`)
      return still ? waitsCode : 0
    },
  }),
  retry: verb({
    usage: '<run>',
    about: 'Of one that was given up: starts its task again. Repeated, it names the same run.',
    async run({ ask, print }) {
      const receipt = await ask('POST /api/operator/runs/:run/retry').catch(ofGivenUp)
      print(receipt, `Started again as ${receipt.run} of ${receipt.session}.`)
    },
  }),
  drop: verb({
    usage: '<run>',
    about: 'Of one that was given up: takes it off the list.',
    asks: ({ args: [run] }) => `Take ${short(run)} off the list?`,
    async run({ args: [run], ask, print }) {
      const row = await ask('POST /api/operator/runs/:run/drop').catch(ofGivenUp)
      print(row, `${run} is off the list.`)
    },
  }),
})
