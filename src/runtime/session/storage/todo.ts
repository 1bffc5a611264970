import type { ApprovalRule } from '../types/approval.ts'
import type { Delivery } from '../types/submission.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { HeldPieces } from '../types/principal.ts'
import type { Emitted, SubscriptionOwner } from '../types/audit-sink.ts'

/** A delivery that is due: the keeper of subscriptions that gets an event. */
export interface Tell {
  readonly owner: SubscriptionOwner
  readonly seq: number
}

/** The event deliveries that are due. */
/** Rows of the `todo` table. */
interface Rows extends Pick<DurableObjectStorage, 'sql'> {
  readonly exists: () => boolean
  readonly put: (key: string, value: unknown) => void
  readonly get: (key: string) => unknown
}

function createTellRows({ sql, exists, put, get }: Rows) {
  const place = (seq: number) => String(seq).padStart(12, '0')
  const eventKey = (seq: number) => `trouble said ${place(seq)}`
  const tellKey = ({ owner, seq }: Tell) => `trouble told ${place(seq)} ${owner}`
  return {
    /** The due deliveries in the order of the log: at most `limit`, none to the owners in `without`. */
    tells: (limit: number, without: ReadonlySet<string> = new Set()) =>
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
    /** Undefined if it was delivered meanwhile. */
    eventOf: ({ seq }: Tell) => get(eventKey(seq)) as Emitted | undefined,
    /**
     * Adds deliveries; a delivery that exists is not added twice. The event is stored once for all its owners, until
     * the last delivery is done.
     */
    addTells: ({
      owners,
      seq,
      event,
    }: {
      readonly owners: readonly SubscriptionOwner[]
      readonly seq: number
      readonly event: Emitted
    }) => {
      put(eventKey(seq), event)
      for (const owner of owners) put(tellKey({ owner, seq }), { owner, seq })
    },
    removeTell: (tell: Tell) => {
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

/** An outbox entry: a message for another object, stored until it is acknowledged. */
export type Errand =
  | {
      readonly kind: 'cancel'
      readonly session: string
      readonly run: string
      readonly call: string
      readonly reason: string
    }
  | { readonly kind: 'deliver'; readonly session: string; readonly delivery: Delivery }
  /** The spending of a run for its principal's day, with the fields of the settlement. */
  | {
      readonly kind: 'settle'
      readonly session: string
      readonly run: string
      /** The rule that an approval makes for later calls. */
      readonly rule?: ApprovalRule
      /** Tells the principal's object that nothing of this run goes on with its key. */
      readonly isReleased?: true
    }

/** A call that was cancelled before it reached this object. */
interface CancelTombstone {
  readonly parentRun: string
  readonly call: string
  readonly reason: string
  readonly atMs: number
}

/**
 * Work that this object still has to do, and facts that it must not forget, in a table that is made when it is first
 * needed: most sessions never need it. Synchronous, so that a row lands in the transaction of its cause.
 */
export type Todo = ReturnType<typeof createTodo>

/** An entry that cannot be read stays where it is, and holds up no other. */
function parse(body: string): Errand | undefined {
  try {
    return JSON.parse(body) as Errand
  } catch {
    return undefined
  }
}

function subjectOf(errand: Errand): string {
  switch (errand.kind) {
    case 'cancel':
      return `${errand.run} ${errand.call}`
    case 'deliver':
      return `${errand.delivery.parentRun} ${errand.delivery.call}`
    case 'settle':
      return [errand.run, errand.rule?.id, errand.isReleased && 'released']
        .filter(Boolean)
        .join(' ')
  }
}

export function createTodo({ sql }: Pick<DurableObjectStorage, 'sql'>) {
  let isMade: boolean | undefined
  const exists = () =>
    (isMade ??= sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'todo'`).toArray().length > 0)
  const put = (key: string, value: unknown) => {
    if (!exists()) {
      sql.exec(
        `CREATE TABLE todo (${tablesMark} key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID`,
      )
      isMade = undefined // a transaction that fails takes the table with it
    }
    sql.exec('INSERT OR REPLACE INTO todo VALUES (?, ?)', key, JSON.stringify(value))
  }
  const get = (key: string): unknown => {
    if (!exists()) return undefined
    const [row] = sql.exec('SELECT body FROM todo WHERE key = ?', key).toArray()
    return row && (JSON.parse(String(row['body'])) as unknown)
  }
  // The prefix is a word that no outbox entry begins with.
  const tracePrefix = 'trouble trace '
  const triesPrefix = 'trouble tries '
  const settledKey = 'trouble settled'
  const piecesKey = 'trouble pieces'
  const tombstoneKey = (parentRun: string, call: string) => `buried ${parentRun} ${call}`

  return {
    errands: () =>
      exists()
        ? sql
            .exec(
              `SELECT key, body FROM todo WHERE key NOT LIKE 'buried %' AND key NOT LIKE 'trouble %' ORDER BY key`,
            )
            .toArray()
            .flatMap(({ key, body }) => {
              const errand = parse(String(body))
              return errand ? [{ key: String(key), errand }] : []
            })
        : [],
    /** Adds an outbox entry. Adding the same entry again changes nothing. */
    add: (errand: Errand) => {
      put(`${errand.kind} ${errand.session} ${subjectOf(errand)}`, errand)
    },
    remove: (key: string) => {
      if (exists()) sql.exec('DELETE FROM todo WHERE key = ?', key)
    },
    addTombstone: ({ parentRun, call, reason, atMs }: CancelTombstone) =>
      put(tombstoneKey(parentRun, call), { reason, atMs }),
    /** The reason for which a call was cancelled before it came, if it was. */
    tombstoneOf: (parentRun: string, call: string) => {
      const tombstone = get(tombstoneKey(parentRun, call)) as CancelTombstone | undefined
      return tombstone?.reason
    },
    /** Forgets the tombstones from before this moment. @returns The moment of the oldest one that is left. */
    dropTombstones: (beforeMs: number) => {
      if (!exists()) return undefined
      const atMs = `body->>'atMs'`
      const tombstones = `key LIKE 'buried %'`
      sql.exec(`DELETE FROM todo WHERE ${tombstones} AND ${atMs} <= ?`, beforeMs)
      const [row] = sql
        .exec(`SELECT min(${atMs}) AS oldest, count(*) AS count FROM todo WHERE ${tombstones}`)
        .toArray()
      return Number(row?.['count']) > 0 ? Number(row?.['oldest']) : undefined
    },
    /** Stores that an incident was reported; false if it was stored already. */
    noteTrouble: (kind: string) => {
      const isNew = get(`trouble ${kind}`) === undefined
      if (isNew) put(`trouble ${kind}`, true)
      return isNew
    },
    /** False if there was no incident of the kind. */
    clearTrouble: (kind: string) => {
      if (get(`trouble ${kind}`) === undefined) return false
      sql.exec('DELETE FROM todo WHERE key = ?', `trouble ${kind}`)
      return true
    },
    /** How often work of the kind was tried in vain. */
    tries: (kind: string) => Number(get(`${triesPrefix}${kind}`) ?? 0),
    /** 0 forgets them. */
    setTries: (kind: string, tries: number) => {
      if (tries > 0) put(`${triesPrefix}${kind}`, tries)
      else if (exists()) sql.exec('DELETE FROM todo WHERE key = ?', `${triesPrefix}${kind}`)
    },
    /**
     * The last run whose spending was settled during the deletion of the session, with all runs before it; 0 if
     * there is none.
     */
    settledUpTo: () => Number(get(settledKey) ?? 0),
    noteSettled: (order: number) => put(settledKey, order),
    /** The pieces of the principal's day that this session holds. */
    pieces: (): HeldPieces => (get(piecesKey) as HeldPieces | undefined) ?? { taken: {} },
    setPieces: (held: HeldPieces) => {
      if (held.free || Object.keys(held.taken).length > 0) put(piecesKey, held)
      else if (exists()) sql.exec('DELETE FROM todo WHERE key = ?', piecesKey)
    },
    /** Runs whose trace has yet to be exported, with the number of tries. */
    traces: () =>
      exists()
        ? sql
            .exec(`SELECT key, body FROM todo WHERE key LIKE '${tracePrefix}%' ORDER BY key`)
            .toArray()
            .map(({ key, body }) => ({
              run: String(key).slice(tracePrefix.length),
              tries: Number(body) || 0,
            }))
        : [],
    addTrace: (run: string, tries: number) => put(`${tracePrefix}${run}`, tries),
    removeTrace: (run: string) => {
      if (exists()) sql.exec('DELETE FROM todo WHERE key = ?', `${tracePrefix}${run}`)
    },
    ...createTellRows({ sql, exists, put, get }),
    hasAny: () => exists() && sql.exec('SELECT 1 FROM todo LIMIT 1').toArray().length > 0,
    /** A transaction was rolled back: the table that it made is gone too. */
    forget: () => void (isMade = undefined),
    drop: () => {
      sql.exec('DROP TABLE IF EXISTS todo')
      isMade = undefined
    },
  }
}
