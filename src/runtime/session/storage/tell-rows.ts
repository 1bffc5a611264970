import type { Emitted, SubscriptionOwner } from '../types/event-bus.ts'

/** A delivery that is due: the keeper of subscriptions that gets an event. */
export interface Tell {
  readonly owner: SubscriptionOwner
  readonly seq: number
}

/** The event deliveries that are due. */
export interface TellRows {
  /** The due deliveries in the order of the log: at most `limit`, none to the owners in `without`. */
  readonly tells: (limit: number, without?: ReadonlySet<string>) => readonly Tell[]
  /** Undefined if it was delivered meanwhile. */
  readonly eventOf: (tell: Tell) => Emitted | undefined
  /**
   * Adds deliveries; a delivery that exists is not added twice. The event is stored once for all its owners, until the
   * last delivery is done.
   */
  readonly addTells: (tells: {
    readonly owners: readonly SubscriptionOwner[]
    readonly seq: number
    readonly event: Emitted
  }) => void
  readonly removeTell: (tell: Tell) => void
}

/** Rows of the `todo` table. */
interface Rows extends Pick<DurableObjectStorage, 'sql'> {
  readonly exists: () => boolean
  readonly put: (key: string, value: unknown) => void
  readonly get: (key: string) => unknown
}

export function createTellRows({ sql, exists, put, get }: Rows): TellRows {
  const place = (seq: number) => String(seq).padStart(12, '0')
  const eventKey = (seq: number) => `trouble said ${place(seq)}`
  const tellKey = ({ owner, seq }: Tell) => `trouble told ${place(seq)} ${owner}`
  return {
    tells: (limit, without = new Set()) =>
      exists()
        ? sql
            .exec(
              `SELECT body->>'owner' AS owner, body->>'seq' AS seq FROM todo
               WHERE key > 'trouble told ' AND key < 'trouble told!'
                 AND owner NOT IN (SELECT value FROM json_each(?)) ORDER BY key LIMIT ?`,
              JSON.stringify([...without]),
              limit,
            )
            .toArray()
            .map(({ owner, seq }) => ({ owner: owner as Tell['owner'], seq: Number(seq) })) // as it was put there
        : [],
    eventOf: ({ seq }) => get(eventKey(seq)) as Emitted | undefined,
    addTells({ owners, seq, event }) {
      put(eventKey(seq), event)
      for (const owner of owners) put(tellKey({ owner, seq }), { owner, seq })
    },
    removeTell(tell) {
      if (!exists()) return
      sql.exec('DELETE FROM todo WHERE key = ?', tellKey(tell))
      const of = `trouble told ${place(tell.seq)}`
      sql.exec(
        `DELETE FROM todo WHERE key = ?1
         AND NOT EXISTS (SELECT 1 FROM todo WHERE key > ?2 || ' ' AND key < ?2 || '!')`,
        eventKey(tell.seq),
        of,
      )
    },
  }
}
