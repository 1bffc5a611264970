// Calls that wait for a person: id, reason, and the command with which the run goes on.
import { waitingIn, type Waiting } from './chat/pauses.ts'
import type { Pause } from './chat/person.ts'
import { argumentsOf, factsOfPause } from './approval-text.ts'
import { neededOption, neededText } from './limit-options.ts'
import { shown } from './text.ts'
import type { Tree } from './whole-tree.ts'

/** A call that waits, with the one id that every verb of `approval` takes. */
export interface Named extends Waiting {
  readonly id: string
}

/** The fields of a run that name its waiting calls. */
interface Run {
  readonly id: string
  readonly pauses?: readonly Pause[] | undefined
}

/**
 * Its id of the inbox, where it has one; else that of its run, with its call where several wait there. Where a call
 * of a sub-agent waits, it is named there.
 */
export function waitingOfRun(session: string, { id: run, pauses = [] }: Run): readonly Named[] {
  const own = pauses.filter(({ kind }) => kind !== 'session')
  const unnamed = own.filter(({ approval }) => !approval)
  return own.map((pause) => ({
    id: pause.approval?.id ?? (unnamed.length > 1 ? `${run}:${pause.call}` : run),
    session,
    run,
    pause,
  }))
}

/** Everything that waits in a session and below it. */
export function waitingOf(tree: Tree): readonly Named[] {
  const byRun = new Map<string, Waiting[]>()
  for (const one of waitingIn(tree)) byRun.set(one.run, [...(byRun.get(one.run) ?? []), one])
  return [...byRun].flatMap(([run, all]) =>
    waitingOfRun(all[0]?.session ?? '', { id: run, pauses: all.map(({ pause }) => pause) }),
  )
}

/** Why it waits, whole. */
export function reasonOf({ kind, tool, input, reached, about }: Pause): string {
  if (reached) return reached.message
  if (kind === 'question')
    return `It asks: ${typeof input['question'] === 'string' ? input['question'] : (about ?? tool)}`
  if (kind === 'client_tool') return `It waits for the result of ${tool}, which its client runs.`
  return `${tool} with ${argumentsOf(input)} waits for a yes.`
}

/** The command with which it goes on. */
export function nextOf({ id, session, run, pause }: Named): string {
  const { kind, reached } = pause
  const limit = reached && neededOption(reached)
  if (kind === 'budget' && limit) return `isola run raise ${run} ${limit}`
  if (kind === 'question') return `isola chat --session ${session}`
  if (kind === 'client_tool') return `isola session show ${session}`
  return `isola approval allow ${id}`
}

/** A line for the reason of each call that waits, and one for its command. */
export const toldWaiting = (waiting: readonly Named[]): string =>
  waiting.map((one) => `It waits: ${reasonOf(one.pause)}\n  ${nextOf(one)}`).join('\n')

/** All that a person needs to decide about a call of a session: nothing of the arguments is cut. */
export function describedWaiting({ id, session, run, pause }: Named): string {
  const { kind, tool, input, reached, argsHash } = pause
  const needs = reached && neededText(reached)
  const lines =
    kind === 'approval'
      ? [`${tool} with ${argumentsOf(input, 2)}`, ...factsOfPause(pause), `arguments ${argsHash}`]
      : [reasonOf(pause), ...(needs ? [`needs ${needs}`] : []), nextOf({ id, session, run, pause })]
  return shown([`${id}: open`, `in ${session} ${run}`, ...lines].join('\n'))
}
