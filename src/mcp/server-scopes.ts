import type { KeptValues } from './kept-values.ts'

/** So many session trees have one at a time; the oldest one begins anew after that. */
const maxScopes = 256
const listName = 'scopes'
const keptNames = ['resume', 'listing']

/** What one session tree has of a server: it is closed when it is dropped, and begun anew by whoever comes then. */
interface Scope {
  readonly drop: () => void
}

/**
 * A session at a server for each session tree here, where the server keeps one: what it remembers of one must not meet
 * another (docs/security.md T7). Which trees have one is kept, so that what they left can be taken away.
 */
export function createServerScopes<Opened extends Scope>(
  kept: KeptValues,
  open: (kept: KeptValues) => Opened,
) {
  const opened = new Map<string, Opened>()
  const known = (): readonly string[] => kept.get<readonly string[]>(listName, '') ?? []
  const drop = (session: string): void => {
    opened.get(session)?.drop()
    opened.delete(session)
    for (const name of keptNames) kept.drop(`${name} ${session}`)
  }

  return {
    of(session: string): Opened {
      const before = opened.get(session)
      if (before) return before
      const others = known().filter((one) => one !== session)
      for (const old of others.slice(0, Math.max(0, others.length - maxScopes + 1))) drop(old)
      kept.keep(listName, '', [...others, session].slice(-maxScopes))
      const made = open(keptOf(kept, session))
      opened.set(session, made)
      return made
    },
    dropAll(): void {
      for (const session of new Set([...known(), ...opened.keys()])) drop(session)
      kept.drop(listName)
    },
  }
}

/** The same values under names of their own. */
const keptOf = (kept: KeptValues, session: string): KeptValues => ({
  get: (name, key) => kept.get(`${name} ${session}`, key),
  keep: (name, key, value) => kept.keep(`${name} ${session}`, key, value),
  drop: (name) => kept.drop(`${name} ${session}`),
})
