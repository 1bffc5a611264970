// Judges a session after its faults: nothing acknowledged lost, nothing done twice, nothing stuck.
import { sleep } from './world.mjs'
import { terminalWithinMs } from './trial.mjs'

const terminalStates = new Set(['completed', 'stopped', 'failed', 'cancelled'])
/** A tree is read only after its sessions had time to go on by themselves: a read wakes its object. */
const quietMs = 1_000
const rereadEveryMs = 2_000
/** An outcome that began no run for so long is looked for elsewhere: until then nothing wakes its session. */
const noteAfterMs = 20_000
/** The limit of a run of these agents, with everything below it (lease.ts, effect-plugins.ts). */
const limits = {
  orchestrator: { tokens: 1_000_000, turns: 100, toolCalls: 500, children: 100 },
  helper: { tokens: 30_000, turns: 8, toolCalls: 50, children: 16 },
}

/** @returns The violations, each `{ kind: 'lost' | 'doubled' | 'stuck', what }`. */
export async function judge(trial) {
  await allEnded(trial)
  if (!trial.isDeleted()) await outcomesTold(trial)
  for (const reader of trial.readers) await reader.stop()
  if (trial.isDeleted()) {
    judgeEffects(trial, undefined)
    await judgeDeleted(trial)
    return trial.problems
  }
  const tree = await settledTree(trial)
  if (!tree) return trial.problems
  judgeSubmissions(trial, tree)
  await judgeTranscript(trial)
  for (const session of flatten(tree)) await judgeLog(trial, session)
  judgeEffects(trial, tree)
  for (const session of flatten(tree)) judgeUsage(trial, session)
  return trial.problems
}

/** Of a story without faults: everything it asked for was done. */
export function judgeUndisturbed(trial, { expectsOutcomeRun = false, expects = [] }) {
  const done = new Set(
    trial.world.upstream.effects
      .of(trial.session)
      .map(([name]) => name.slice(name.indexOf('/') + 1)),
  )
  for (const name of trial.effects) {
    if (!done.has(name)) trial.problem('lost', `without any fault effect ${name} did not happen`)
  }
  if (expectsOutcomeRun && trial.outcomeRuns !== 1)
    trial.problem('lost', `without any fault ${trial.outcomeRuns} runs were begun by the outcome`)
  for (const type of expects) {
    if (!trial.told?.has(type)) trial.problem('lost', `without any fault there is no ${type}`)
  }
  for (const state of trial.states ?? []) {
    if (state !== 'completed') trial.problem('lost', `without any fault a run ended as ${state}`)
  }
}

/** Without traffic: the audit log is in another database. */
async function allEnded(trial) {
  for (const { run, name } of trial.isDeleted() ? [] : trial.accepted) {
    if (await trial.ended(run)) continue
    const { body } = await trial.call(trial.path(`/runs/${run}`))
    if (terminalStates.has(body?.state))
      trial.problem('lost', `the end of run ${name} ${run} did not reach the audit log`)
    else trial.problem('stuck', `run ${name} ${run} is ${body?.state}`)
  }
  for (const child of childrenIn(trial, trial.session)) await childEnded(trial, child)
}

/** What came of background work that is over is said in its session once, in a run that it began if it was to. */
async function outcomesTold(trial) {
  const invoked = trial.world.audit
    .of(trial.session)
    .filter(({ type, data }) => type === 'agent_invoked' && data.background)
  const children = new Map(invoked.map(({ data }) => [data.session, data]))
  for (const [child, { onOutcome }] of children) {
    const isOver = ({ type }) => type === 'run_finished'
    if (!trial.world.audit.of(child).some(isOver)) continue
    const run = onOutcome === 'run' ? await begunBy(trial, child) : undefined
    if (run && !(await trial.ended(run)))
      trial.problem('stuck', `run ${run}, begun by the outcome of ${child}, is not over`)
    const times = await timesTold(trial, child)
    if (times === 0) trial.problem('lost', `the outcome of ${child} is not in the transcript`)
    if (times > 1) trial.problem('doubled', `the outcome of ${child} is told ${times} times`)
  }
}

/** The run that an outcome began: without traffic. None if it was heard by one that was at work. */
async function begunBy(trial, child) {
  const sinceMs = Date.now()
  while (Date.now() < sinceMs + terminalWithinMs) {
    const records = trial.world.audit.of(trial.session)
    const began = records.find(({ type, data }) => {
      return type === 'run_started' && data.begunBy?.session === child
    })
    if (began) return began.run
    if (records.some(({ type }) => type === 'run_steered')) return undefined
    if (!(await isStillToCome(trial, child, sinceMs))) return undefined
    await sleep(rereadEveryMs / 10)
  }
  return undefined
}

/** A run that ended by itself while its outcome was on its way has not heard it: then it is a note. */
async function isStillToCome(trial, child, sinceMs) {
  if (Date.now() < sinceMs + noteAfterMs) return true
  return (await timesTold(trial, child, 0)) === 0
}

async function timesTold(trial, child, withinMs = terminalWithinMs) {
  const sinceMs = Date.now()
  for (;;) {
    const { body } = await trial.call(trial.path('/transcript'))
    const times = body.messages.filter(({ role, text = '' }) => {
      return role === 'user' && text.includes(`started in the background (session ${child})`)
    }).length
    if (times > 0 || Date.now() > sinceMs + withinMs) return times
    await sleep(quietMs)
  }
}

const childrenIn = (trial, session) => [
  ...new Set(
    trial.world.audit
      .of(session)
      .flatMap(({ type, data }) => (type === 'agent_invoked' ? [data.session] : [])),
  ),
]

/** A child that never began has no log, and needs none. */
async function childEnded(trial, session) {
  await sleep(quietMs)
  for (const { type, run } of trial.world.audit.of(session)) {
    if (type === 'run_started' && !(await trial.ended(run, session)))
      trial.problem('stuck', `run ${run} of child ${session} is not over`)
  }
}

async function settledTree(trial) {
  const sinceMs = Date.now()
  for (;;) {
    const { status, body } = await trial.call(trial.path())
    if (status !== 200) {
      trial.problem('lost', `the session answers ${status}`)
      return undefined
    }
    const open = flatten(body).flatMap(({ id, runs }) =>
      runs.filter(({ state }) => !terminalStates.has(state)).map((run) => `${id} ${run.id}`),
    )
    if (open.length === 0) return body
    if (Date.now() > sinceMs + terminalWithinMs) {
      trial.problem('stuck', `still running: ${open.join(', ')}`)
      return body
    }
    await sleep(rereadEveryMs)
  }
}

const flatten = (tree) => [tree, ...tree.children.flatMap(flatten)]

function judgeSubmissions(trial, tree) {
  const runs = new Set(tree.runs.map(({ id }) => id))
  for (const { name, run } of trial.accepted) {
    if (!runs.has(run)) trial.problem('lost', `run ${name} ${run} is not in its session`)
  }
  const names = new Set(trial.accepted.map(({ name }) => name))
  const begun = tree.runs.flatMap(({ begunBy: by }) => (by ? [`${by.run} ${by.call}`] : []))
  // The end of a handoff is noted in a run of its own where no message of the user brings it.
  const noted = trial.world.audit.of(trial.session).filter(({ type }) => type === 'floor_ended')
  const asked = tree.runs.length - begun.length
  const most = names.size + trial.unanswered() + noted.length
  if (asked > most) trial.problem('doubled', `${asked} runs of ${names.size} submissions`)
  trial.outcomeRuns = new Set(begun).size
  if (begun.length > trial.outcomeRuns)
    trial.problem('doubled', `${begun.length} runs of ${trial.outcomeRuns} outcomes`)
  trial.states = tree.runs.map((run) =>
    [run.state, run.result?.error?.code].filter(Boolean).join(' '),
  )
}

async function judgeTranscript(trial) {
  const { body } = await trial.call(trial.path('/transcript'))
  const said = body.messages.filter(({ role }) => role === 'user').map(({ text }) => text)
  const retried = new Set(trial.accepted.filter(({ task }) => !task).map(({ of }) => of))
  for (const { name, task } of [...trial.accepted, ...trial.steered]) {
    if (!task) continue
    const times = said.filter((text) => text === task).length
    if (times === 0) trial.problem('lost', `message ${name} is not in the transcript`)
    if (times > 1 + (retried.has(name) ? 1 : 0))
      trial.problem('doubled', `message ${name} is ${times} times in the transcript`)
  }
}

async function judgeLog(trial, session) {
  const log = await readLog(trial, session.id)
  const at = log.findIndex(({ seq }, index) => seq !== index + 1)
  if (at >= 0) {
    const { seq, type } = log[at]
    const around = log
      .slice(Math.max(0, at - 4), at + 4)
      .map((event) => `${event.seq} ${event.type} ${event.run.slice(-4)}`)
    const what = `${type} has seq ${seq}, not ${at + 1} (${around.join(', ')})`
    trial.problem(seq > at + 1 ? 'lost' : 'doubled', what)
  }
  for (const { id, state } of session.runs) {
    const ends = log.filter(({ run, type }) => run === id && type === 'run_finished').length
    if (ends > 1) trial.problem('doubled', `run ${id} finished ${ends} times`)
    if (ends === 0 && terminalStates.has(state)) trial.problem('lost', `run ${id} has no end`)
  }
  judgeAudit(trial, session.id, log)
  judgeOutcomes(trial, log)
  if (session.id !== trial.session) return
  trial.told = new Set(log.map(({ type }) => type))
  const written = new Map(log.map((event) => [event.seq, event]))
  for (const { seen, faults } of trial.readers) {
    for (const what of faults) trial.problem('doubled', `a reader's cursor slipped: ${what}`)
    for (const event of seen) {
      const there = written.get(event.seq)
      if (there?.type !== event.type || there.run !== event.run)
        trial.problem('lost', `a reader saw ${event.seq} ${event.type}, the log has ${there?.type}`)
    }
  }
}

/** A call that is recorded as done was done. */
function judgeOutcomes(trial, log) {
  const effects = new Map(trial.world.upstream.effects.of(trial.session))
  const asked = new Map(
    log.flatMap(({ type, data }) =>
      type === 'tool_started' ? [[data.call, effectIn(data.input)]] : [],
    ),
  )
  for (const { type, data } of log) {
    if (type !== 'tool_finished' || !data.ok) continue
    const name = asked.get(data.call)
    if (name && !effects.has(name))
      trial.problem('lost', `call ${data.call} is recorded as done, ${name} never happened`)
  }
}

/** Which counted effect the arguments name. */
function effectIn(input) {
  const [, mode, ...name] = URL.canParse(input?.url) ? new URL(input.url).pathname.split('/') : []
  return mode === 'honour' || mode === 'plain' ? name.join('/') : undefined
}

function judgeAudit(trial, session, log) {
  const carried = new Map(trial.world.audit.of(session).map((record) => [record.seq, record]))
  if (carried.size === 0) return // a child that ended moments ago: its record is on its way
  for (const { seq, type } of log) {
    const record = carried.get(seq)
    if (record && record.type !== type)
      trial.problem('lost', `the audit log has ${record.type} for ${seq} ${type}`)
  }
}

export async function readLog(trial, session) {
  const sinceMs = Date.now()
  for (;;) {
    try {
      const response = await trial.request(`/api/sessions/${session}/events?follow=false`)
      const text = await response.text()
      if (response.ok && !text.includes('event: error')) return eventsIn(text)
    } catch {
      // cut by another session's fault
    }
    if (Date.now() > sinceMs + terminalWithinMs) throw new Error(`no log of ${session}`)
    await sleep(quietMs)
  }
}

const eventsIn = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)))
    .filter(({ seq }) => seq !== undefined)

function judgeEffects(trial) {
  for (const [name, { mode, requests, executed }] of trial.world.upstream.effects.of(
    trial.session,
  )) {
    if (executed > 1)
      trial.problem(
        'doubled',
        `effect ${name} (${mode}) happened ${executed} times, ${requests} asked`,
      )
  }
}

function judgeUsage(trial, { id, agent, runs }) {
  for (const { result } of runs) {
    for (const [what, limit] of Object.entries(limits[agent] ?? {})) {
      if (result && result.usage[what] > limit)
        trial.problem('doubled', `${id} overspent: ${result.usage[what]} ${what} of ${limit}`)
    }
  }
}

async function judgeDeleted(trial) {
  const { status } = await trial.call(trial.path())
  if (status !== 404) trial.problem('lost', `a deleted session answers ${status}`)
}
