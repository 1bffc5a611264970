import { placeOf } from '#features/plugins/types/memory.ts'
import { type MemoryScope, type NotePlace, type PlaceStats } from '#contracts/long-term.ts'

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
