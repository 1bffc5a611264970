import { placeOf } from '#features/plugins/types/memory.ts'
import type {
  MemoryScope,
  NotePlace,
  PlaceStats,
  MemoryGateway,
  LongTermMemory,
} from '#contracts/long-term.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { SessionIndex, Principal } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { deploymentEvent, type DeploymentEventData, type DeploymentLog } from '#contracts/event.ts'
import type { Sources } from '#contracts/sources.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** Whose notes or documents are meant. */
export interface Where {
  readonly scope?: MemoryScope | undefined
  readonly agent?: string | undefined
}

type Keeper = (asked: {
  readonly verb: 'stats'
}) => Promise<{ readonly stats?: readonly PlaceStats[] }>

/** Without a scope all that is in the object. */
export async function placesOf(
  { scope, agent }: Where,
  keeper: Keeper,
): Promise<{ readonly places?: readonly NotePlace[] }> {
  if (scope === undefined && agent === undefined) return {}
  if (scope !== undefined && scope !== 'agent') return { places: [placeOf(scope, '')] }
  if (agent !== undefined) return { places: [placeOf('agent', agent)] }
  const { stats = [] } = await keeper({ verb: 'stats' })
  const agents = stats.flatMap((one) => one.agent ?? [])
  return { places: agents.map((one) => placeOf('agent', one)) }
}

/** The scope that a change on the record names, where a request named it. */
export const scopeIn = ({ scope }: Where) => (scope ? { scope } : {})

const sessionsAtOnce = 20

export interface ForgetQuotesDeps {
  readonly memory: MemoryGateway
  readonly sessions: SessionGateway
  readonly sessionIndex: Pick<SessionIndex, 'idsOf'>
}

/** Takes what a note says out of some conversations of its principal. @returns From how many, and where to go on. */
export async function forgetQuotes(
  { memory, sessions, sessionIndex }: ForgetQuotesDeps,
  principal: string,
  { id, after = '', scope }: Where & { readonly id: string; readonly after?: string | undefined },
): Promise<{ readonly sessions: number; readonly next?: string }> {
  if (scope === 'deployment') {
    const message =
      'everywhere: what the deployment remembers may be quoted in anybody’s conversations, which are theirs.'
    throw new IsolaError('request_invalid', message, { param: 'everywhere' })
  }
  const { notes = [] } = await memory.ofPrincipal(principal)({ verb: 'get', id })
  const texts = notes.flatMap(({ text, speaker, caption }) => [
    [speaker, text].filter(Boolean).join(' '),
    text,
    ...(caption === undefined ? [] : [caption]),
  ])
  const ids = await sessionIndex.idsOf(principal, { after, limit: sessionsAtOnce })
  let changed = 0
  const busy: string[] = []
  for (const session of ids) {
    try {
      if (unwrap(await sessions.at(session).forgetTexts(principal, texts)).changed > 0) changed += 1
    } catch (error) {
      // It was deleted meanwhile.
      if (errorCode(error) === 'request_not_found') continue
      if (errorCode(error) !== 'request_conflict') throw error
      busy.push(session)
    }
  }
  // The others are done by now: the same again does only what is left.
  if (busy.length > 0) throw stillBusy(busy)
  const next = ids.length === sessionsAtOnce ? { next: ids.at(-1)! } : {}
  return { sessions: changed, ...next }
}

function stillBusy(sessions: readonly string[]): IsolaError {
  const cancels = sessions.map((session) => `isola session cancel ${session}`).join(', ')
  const message =
    `A run is not over, or waits for somebody, in ${sessions.join(', ')}: what it was told cannot be ` +
    `taken out before its end. Wait for it or cancel it (${cancels}), and ask again. The note is kept until then.`
  return new IsolaError('request_conflict', message)
}

export interface MemoryDeps {
  readonly memory: MemoryGateway
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** The notes of the deployment, or those of the caller. */
export const memoryAt = (
  memory: MemoryGateway,
  { id }: Pick<Principal, 'id'>,
  { scope }: Where,
): LongTermMemory => (scope === 'deployment' ? memory.ofDeployment() : memory.ofPrincipal(id))

/** The same, to change them: an operator alone changes notes of the deployment. */
export function changeableAt(
  memory: MemoryGateway,
  caller: Pick<Principal, 'id' | 'role'>,
  where: Where,
): LongTermMemory {
  if (where.scope === 'deployment' && caller.role !== 'operator') {
    const message = 'scope: what the deployment remembers is an operator’s to change.'
    throw new IsolaError('request_forbidden', message, { param: 'scope' })
  }
  return memoryAt(memory, caller, where)
}

/** Puts a change on the record: how much, never what. */
export async function tellMemory(
  { deploymentLog, sources }: Omit<MemoryDeps, 'memory'>,
  { by }: Pick<RequestContext, 'by'>,
  { owner, ...change }: Omit<DeploymentEventData<'memory_changed'>, 'owner'> & { owner?: string },
): Promise<void> {
  const { principal, trace, requestId: request } = by()
  const place = { principal, trace, atMs: sources.clock.nowMs() }
  const data = { owner: owner ?? principal, ...change, request }
  await deploymentLog.append(deploymentEvent('memory_changed', place, data))
}
