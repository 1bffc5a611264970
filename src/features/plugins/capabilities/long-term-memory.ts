import { defined } from '#contracts/defined.ts'
import { errorCode } from '#contracts/errors.ts'
import {
  memoryScopes,
  noteKinds,
  type FoundNote,
  type MemoryScope,
  type NoteKind,
} from '#contracts/long-term.ts'
import { placeOf } from '../types/memory.ts'
import type { PluginMemory, PluginNote } from '#features/plugins/types/plugin.ts'
import type { CallParts } from './capability-deps.ts'
import { failed, safeError } from '../types/plugin-output.ts'

/** The part of a plugin's memory that outlives its session. */
export type LongTermPart = Pick<PluginMemory, 'remember' | 'recall' | 'forget'>

/** How many notes a run may write if its agent's manifest does not say. */
const maxWrites = 20
const defaultFound = 10
const maxFound = 50

/**
 * Long-term memory of one call: notes of its principal and of the principal's agent; the deployment's notes can only
 * be read. A written note gets the label of everything the call knows; a recalled note adds its own label. Arguments
 * come from plugin code, so all of them are checked.
 */
export function createLongTermPart(
  { context, deps: { longTerm, memoryOf }, labels }: CallParts,
  tool: string | undefined,
): LongTermPart {
  const { principal, agent, run, rootSession: session } = context
  const own = longTerm.ofPrincipal(principal)
  const read = async () => {
    const settings = await memoryOf(agent, context)
    return { settings, reached: settings?.scope ?? memoryScopes }
  }
  const placesOf = (scopes: readonly MemoryScope[], reached: readonly MemoryScope[]) =>
    scopes
      .filter((scope) => scope !== 'deployment' && reached.includes(scope))
      .map((scope) => placeOf(scope, agent))
  return {
    async remember({ text, scope = 'principal', kind = 'note', speaker, date, replaces }) {
      if (scope !== 'principal' && scope !== 'agent')
        throw failed('scope: principal or agent; what the deployment remembers an operator writes.')
      const { settings, reached } = await read()
      if (!reached.includes(scope)) throw failed(`scope: this agent has ${reached.join(', ')}.`)
      if (!noteKinds.includes(kind as NoteKind) || (kind as NoteKind) === 'turn')
        throw failed('kind: note, fact or preference.')
      const origin = { principal, session, run, agent, ...defined({ tool }) }
      const about = {
        ...defined({ speaker, date }),
        ...(replaces !== undefined && { replaces: String(replaces) }),
      }
      const label = labels && { label: labels.kept() }
      const { added } = await safely(
        own({
          verb: 'add',
          place: placeOf(scope, agent),
          notes: [{ text, kind, ...about, origin, ...label }],
          budget: { run, most: settings?.budget.notes ?? maxWrites },
        }),
      )
      return added![0]!
    },
    async recall(query, { scopes = memoryScopes, limit = defaultFound } = {}) {
      if (!scopes.every((scope) => memoryScopes.includes(scope)))
        throw failed(`scopes: ${memoryScopes.join(', ')}.`)
      const most = Number.isInteger(limit) ? Math.min(Math.max(limit, 1), maxFound) : defaultFound
      const asked =
        query === undefined
          ? ({ verb: 'list', limit: most } as const)
          : ({ verb: 'search', query: String(query), limit: most } as const)
      const { reached } = await read()
      const places = placesOf(scopes, reached)
      const answers = await Promise.all([
        ...(places.length > 0 ? [safely(own({ ...asked, places }))] : []),
        ...(scopes.includes('deployment') && reached.includes('deployment')
          ? [safely(longTerm.ofDeployment()(asked))]
          : []),
      ])
      const notes = answers
        .flatMap(({ notes: found = [] }) => found)
        .toSorted((one, other) =>
          query === undefined
            ? other.createdAtMs - one.createdAtMs
            : (other.score ?? 0) - (one.score ?? 0),
        )
        .slice(0, most)
      for (const { label } of notes) labels?.readKept(label)
      return notes.map(toPluginNote)
    },
    async forget(ids) {
      const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= maxFound
      if (!isList || !ids.every((id) => typeof id === 'string'))
        throw failed(`ids: 1 to ${maxFound} ids of notes.`)
      const places = placesOf(memoryScopes, (await read()).reached)
      return (await safely(own({ verb: 'forget', ids, places }))).forgotten ?? 0
    },
  }
}

function toPluginNote(note: FoundNote): PluginNote {
  const { label: _label, origins: _origins, score: _score, agent: _agent, ...shown } = note
  return shown
}

/** A refusal keeps its reason; a fault gets a general message, since its own may reveal internals. */
async function safely<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    const code = errorCode(error)
    const isKnown = code !== undefined && code !== 'request_unavailable'
    throw safeError(error, { isKnown, otherwise: 'The memory did not answer.' })
  })
}
