import {
  toPins,
  type PluginSnapshot,
  type StoredPart,
  type PluginSource,
} from './types/generation.ts'
import { ownerOf } from './types/skill.ts'

/** The look-ups of parts and their sources. */
export interface NeedsDeps {
  readonly find: (ids: readonly string[]) => Promise<readonly StoredPart[]>
  /** `undefined` if it cannot be read. */
  readonly sourceOf: (hash: string) => Promise<PluginSource | undefined>
}

/** Parts with the sources that they are wired from. */
export interface WithNeeds {
  readonly parts: readonly StoredPart[]
  readonly sources: PluginSnapshot['sources']
  /** Ids that were looked for because something names them, found or not. */
  readonly needed: readonly string[]
}

/** The most parts that are added, so that the wiring of one call stays small however many parts name each other. */
const maxParts = 500

/** These parts and every part that wiring needs: their dependencies, and the owners of tools that they may call. */
export async function withNeeds(
  {
    parts: begun,
    ids = [],
  }: { readonly parts?: readonly StoredPart[]; readonly ids?: readonly string[] },
  { find, sourceOf }: NeedsDeps,
): Promise<WithNeeds> {
  const parts: StoredPart[] = []
  const sources: Record<string, PluginSource> = {}
  const asked = new Set<string>(begun?.filter(isNamed).map(({ id }) => id))
  const given = new Set([...asked, ...ids])
  const fresh = (wanted: readonly string[]) => wanted.filter((id) => !asked.has(id))
  let found: readonly StoredPart[] = begun ?? []
  let wanted = fresh([...ids, ...found.flatMap(({ needs = [] }) => needs)])
  while (found.length > 0 || wanted.length > 0) {
    for (const id of wanted) asked.add(id)
    const more = wanted.length > 0 ? await find(wanted) : []
    const next = [...found, ...more.filter((part) => !begun?.some((one) => isSame(one, part)))]
    parts.push(...next)
    const read = await Promise.all(
      next
        .flatMap(({ bodies }) => bodies)
        .map(async (hash) => [hash, await sourceOf(hash)] as const),
    )
    for (const [hash, source] of read) if (source) sources[hash] = source
    const named = [
      ...more.flatMap(({ needs = [] }) => needs),
      ...read.flatMap(([, source]) => (source ? needsOf(source.manifest) : [])),
    ]
    found = []
    wanted = parts.length - (begun?.length ?? 0) > maxParts ? [] : fresh([...new Set(named)])
  }
  return { parts, sources, needed: [...asked].filter((id) => !given.has(id)) }
}

/**
 * Whether other parts may name this part by its id. An operator's choice, such as the policy, is wired from no body and
 * may have the same id.
 */
const isNamed = ({ bodies }: StoredPart): boolean => bodies.length > 0

const isSame = (a: StoredPart, b: StoredPart): boolean => a.kind === b.kind && a.id === b.id

/** Ids of the owners that a manifest names. No check has been made that they exist. */
export function needsOf(manifest: unknown): readonly string[] {
  const {
    depends_on: needed,
    uses_tools: used,
    agent,
  } = Object(manifest) as Record<string, unknown>
  const { uses_tools: ofAgent } = Object(agent) as { readonly uses_tools?: unknown }
  return [needed, used, ofAgent].flatMap((list) =>
    Array.isArray(list) ? list.filter((one) => typeof one === 'string').map(ownerOf) : [],
  )
}

/** The snapshot that parts are wired from. */
export const toSnapshot = (
  number: number,
  { parts, sources }: Pick<WithNeeds, 'parts' | 'sources'>,
): PluginSnapshot => ({
  number,
  pins: toPins(parts),
  sources,
})
