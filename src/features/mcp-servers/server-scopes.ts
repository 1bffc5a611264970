import type { KeptValues } from './kept-values.ts'

const listName = 'scopes'
const keptNames = ['resume', 'listing']

/** The session that one session tree has at a server. A call that comes after the tree's end begins a new session. */
interface Scope {
  /** Something is under way in it. */
  readonly isBusy: () => boolean
  /** Ends its session, here at once and at the server after the last call. Never rejects. */
  readonly end: () => Promise<void>
}

interface ServerScopesDeps<Opened> {
  readonly kept: KeptValues
  readonly open: (kept: KeptValues) => Opened
  /** So many session trees have one at a time, but for those with a call under way. */
  readonly maxScopes: number
}

/**
 * A session at a server for each session tree here, where the server has sessions: its memory of one tree must not
 * meet another tree (docs/security.md T7). Beyond `maxScopes` the session that was unused for longest ends, never one
 * with a call under way. The list of trees is stored, so that their rows can be deleted.
 */
export function createServerScopes<Opened extends Scope>({
  kept,
  open,
  maxScopes,
}: ServerScopesDeps<Opened>) {
  const opened = new Map<string, Opened>()
  /** Least recently used first. */
  const known = (): readonly string[] => kept.get<readonly string[]>(listName, '') ?? []
  const scopeOf = (session: string): Opened => opened.get(session) ?? open(keptOf(kept, session))
  const end = (session: string): Promise<void> => {
    const ended = scopeOf(session).end()
    opened.delete(session)
    for (const name of keptNames) kept.drop(`${name} ${session}`)
    return ended
  }

  return {
    of(session: string): Opened {
      const all = known()
      // Written only if the session is in the older half, not for each call: sessions of the newer half are not next
      // to go.
      const at = all.indexOf(session)
      if (at === -1 || at < all.length - maxScopes / 2) {
        const others = all.filter((one) => one !== session)
        const tooMany = Math.max(0, others.length + 1 - maxScopes)
        const gone = others.filter((one) => !opened.get(one)?.isBusy()).slice(0, tooMany)
        for (const old of gone) void end(old)
        kept.keep(listName, '', [...others.filter((one) => !gone.includes(one)), session])
      }
      const scope = scopeOf(session)
      opened.set(session, scope)
      return scope
    },
    /** Ends the session of a tree that is over. */
    async end(session: string): Promise<void> {
      if (!known().includes(session)) return
      const others = known().filter((one) => one !== session)
      const ended = end(session)
      kept.keep(listName, '', others)
      return ended
    },
    async endAll(): Promise<void> {
      const all = new Set([...known(), ...opened.keys()])
      const ended = [...all].map((session) => end(session))
      kept.drop(listName)
      await Promise.all(ended)
    },
  }
}

/** The same values under names of their own. */
const keptOf = (kept: KeptValues, session: string): KeptValues => ({
  get: (name, key) => kept.get(`${name} ${session}`, key),
  keep: (name, key, value) => kept.keep(`${name} ${session}`, key, value),
  drop: (name) => kept.drop(`${name} ${session}`),
})
