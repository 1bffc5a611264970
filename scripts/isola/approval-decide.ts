// Deciding about one call that waits in a session: let it run, give its run more, or say no.
import { defined } from '../../src/contracts/defined.ts'
import type { Client } from '../../src/client/client.ts'
import { limitsOf, limitUsage, neededOption, type LimitValues } from './limit-options.ts'
import { short } from './text.ts'
import { UsageError } from './usage.ts'
import { nextOf, type Named } from './waiting.ts'

/** How far a yes goes, besides this call. */
export interface Also {
  readonly also?: 'session' | 'always'
  readonly free?: string[]
  readonly days?: number
}

const placeOf = ({ session, run }: Named) => ({ params: { id: session, run } })

/** What a yes would do that the person has to be asked about; a limit is named, which says it. */
export const asksFirst = ({ pause }: Named, limits: LimitValues): boolean =>
  pause.kind === 'approval' && limitsOf(limits) === undefined

/** Throws where a yes alone lets nothing go on, with the command that does. */
export function checkMayAllow(waiting: Named, limits: LimitValues): void {
  const { id, pause } = waiting
  const { kind, reached } = pause
  const given = limitsOf(limits) !== undefined
  const option = reached && neededOption(reached)
  if (kind === 'question' || kind === 'client_tool')
    throw new Error(`${short(id)} waits for an answer: ${nextOf(waiting)}`)
  if (kind === 'budget' && option && !given)
    throw new Error(
      `${reached.message}\n  ${nextOf(waiting)}\n  isola approval allow ${id} ${option}`,
    )
  if (given && !option)
    throw new UsageError(`${short(id)} waits at no limit: leave out ${limitUsage}.`)
}

/** @returns What came of it, for the answer with --json and in words. */
export async function allowCall(
  request: Client['request'],
  waiting: Named,
  { limits = {}, ...also }: Also & { readonly limits?: LimitValues },
) {
  const { pause, run } = waiting
  const { call, kind, argsHash } = pause
  const body = limitsOf(limits)
  if (body) {
    const path = 'POST /api/sessions/:id/runs/:run/limits'
    const view = await request(path, { ...placeOf(waiting), body })
    const still = view.pauses?.find((one) => one.kind === 'budget')
    if (still) throw new Error(`${run} still waits: ${still.reached?.message}`)
    return { view, text: `${run} has its new limits; it is ${view.state}.` }
  }
  // A suspected loop has no arguments to look at.
  const yes = {
    call,
    decision: 'approve',
    ...(kind === 'approval' && { argsHash, ...also }),
  } as const
  const path = 'POST /api/sessions/:id/runs/:run/decisions'
  const view = await request(path, { ...placeOf(waiting), body: yes })
  const text =
    kind === 'budget'
      ? `${run} goes on.`
      : `${call} is approved${also.also ? ', and what is like it from now on (isola approval rules)' : ''}; ${run} goes on.`
  return { view, text }
}

export async function denyCall(
  request: Client['request'],
  waiting: Named,
  message: string | undefined,
) {
  const { pause, run } = waiting
  const { call, kind } = pause
  const body = { call, decision: 'deny', ...defined({ message }) } as const
  const path = 'POST /api/sessions/:id/runs/:run/decisions'
  const view = await request(path, { ...placeOf(waiting), body })
  const text =
    kind === 'budget'
      ? `The limit stays; ${run} ends with what it has so far.`
      : `${call} is denied; ${run} goes on without it.`
  return { view, text }
}
