import type { LeaseErrorCode } from '#contracts/errors.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { PauseRequest } from '#contracts/tool.ts'
import { leaseFor } from './leases/share.ts'
import { failure, subjectOf, type GatedCall, type TurnScope } from './call.ts'

const noPerson =
  'This call needs someone to decide or answer, and this client cannot be asked. Submit ' +
  'the task to /api/sessions instead.'
const notWithin =
  'This call needs someone to decide or answer, and one that another tool makes cannot wait for that.'

/** Pauses the call for a person, or denies it with the question if no person can be asked. */
export const pauseOrDeny = (pause: PauseRequest, call: GatedCall, scope: TurnScope) => {
  const { pauses } = scope.caller.options
  const known = [subjectOf(call, scope).label, pause.label ?? ownLabel]
  if (pauses === 'park' || (pauses === 'client_tools' && pause.kind === 'client_tool'))
    return { pause: { ...pause, label: joinLabels(known) } }
  const why = scope.caller.parent === undefined ? noPerson : notWithin
  return { deny: failure('tool_denied', pause.about ? `${why} ${pause.about}` : why) }
}

/** A call that a limit holds back: the run is parked, and the call made once the limit is raised; or it is refused. */
export const heldBack = (code: LeaseErrorCode, message: string, { mayAsk }: TurnScope) =>
  mayAsk ? { pause: { kind: 'budget', expires: true } as const } : { deny: failure(code, message) }

/** A call that cannot begin because the run's time is over. */
export function outOfTime(call: GatedCall, scope: TurnScope) {
  call.refused = 'lease_time'
  return heldBack(call.refused, 'The time of this run is used up.', scope)
}

/**
 * Asks whether a call needs an approval, by the policy, the tool or the run's options (`kv__set` is one tool,
 * `kv__*` all of a plugin).
 */
export function needsApproval(call: GatedCall, scope: TurnScope) {
  const { needsApproval: always, tool, definitionHash } = call.entry!
  const isMatch = (pattern: string) =>
    pattern.endsWith('*') ? tool.name.startsWith(pattern.slice(0, -1)) : tool.name === pattern
  const isOfRun = scope.caller.options.requireApproval?.some(isMatch)
  const asks = always ? 'tool' : isOfRun ? 'run' : undefined
  const { amount } = leaseFor(call.entry!, scope.share)
  return scope.parts.approvals.isNeeded({ ...subjectOf(call, scope), definitionHash, asks, amount })
}
