import type { TurnRecord } from '#contracts/journal.ts'
import type { JsonObject } from '#contracts/json.ts'

/** A session that a call of this one works in. */
export interface Child {
  readonly session: string
  /** Place of the run that asked for it. */
  readonly order: number
  /** Where it stands among the children of its run. */
  readonly place: number
  readonly call: string
  readonly agent: string
  readonly isBackground: boolean
  /** Its outcome has come: only of one in the background, whose run may be over long before. */
  readonly isOver: boolean
}

export type BegunChild = Omit<Child, 'order' | 'isOver'>

/**
 * The children of a session, in the order in which they were asked for. A row is written together with the intent of
 * its call: what was begun is known before it begins. The table is made when it is first needed.
 */
export interface Children {
  /** Notes those that are not noted; in the same transaction as the turn that begins them. */
  readonly add: (order: number, begun: readonly BegunChild[]) => void
  readonly ofRun: (order: number) => readonly Child[]
  /** Those of the runs from one to another, both included; at most `limit`. */
  readonly ofRuns: (from: number, to: number, limit: number) => readonly Child[]
  /** This one and those behind it, of the runs up to one; at most `limit`. */
  readonly from: (session: string, to: number, limit: number) => readonly Child[]
  /** The outcome of this call has come. */
  readonly end: (order: number, call: string) => void
  /** Forgets one that is gone. */
  readonly remove: (child: Child) => void
  readonly drop: () => void
}

/** Places of one turn: its own calls first, then what the code of a call asked for. */
const placesPerTurn = 1_000_000_000
const firstInner = 1_000_000

export interface ChildNames {
  /** The agent that works on a call, if it is one's, and whether anybody waits for it. */
  readonly agentOf: (
    name: string,
    input: JsonObject,
  ) => { readonly agent: string; readonly isBackground: boolean } | undefined
  /** The session of a call. */
  readonly sessionOf: (call: string) => string
}

/** What a turn begins: its calls of agents once they have their lease, and whatever its events tell of besides. */
export function childrenIn(
  { turn, calls, events }: Pick<TurnRecord, 'turn' | 'calls' | 'events'>,
  names?: ChildNames,
): BegunChild[] {
  const first = turn * placesPerTurn
  const invoked = events.flatMap((event) => (event.type === 'agent_invoked' ? [event] : []))
  const begun = calls.flatMap(({ id: call, name, input, reserved, pause, outcome }, index) => {
    const begins = reserved && !pause && !outcome ? names?.agentOf(name, input) : undefined
    return begins
      ? [{ session: names!.sessionOf(call), place: first + index, call, ...begins }]
      : []
  })
  const told = invoked.flatMap(({ data, seq }): BegunChild[] => {
    const { session, call, agent, background = false } = data
    if (begun.some((child) => child.session === session)) return []
    const at = calls.findIndex(({ id }) => id === call)
    const place =
      first + (at >= 0 ? at : firstInner + events.findIndex((event) => event.seq === seq))
    return [{ session, place, call, agent, isBackground: background }]
  })
  return [...begun, ...told]
}

/** @param onForget Has the given work done whenever writes were taken back. */
export function createChildren(
  { sql }: Pick<DurableObjectStorage, 'sql'>,
  onForget: (forget: () => void) => void = () => {},
): Children {
  let isMade: boolean | undefined
  onForget(() => (isMade = undefined))
  const exists = () =>
    (isMade ??=
      sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'children'`).toArray().length > 0)
  const read = (query: string, ...values: SqlStorageValue[]): Child[] =>
    exists()
      ? sql
          .exec(query, ...values)
          .toArray()
          .map(toChild)
      : []

  return {
    add(order, begun) {
      if (begun.length === 0) return
      if (!exists()) {
        sql.exec(`CREATE TABLE children (
          run INTEGER, place INTEGER, session TEXT, call TEXT, agent TEXT, background INTEGER, state TEXT,
          PRIMARY KEY (run, place)) WITHOUT ROWID`)
        isMade = undefined // a transaction that fails takes the table with it
      }
      for (const { place, session, call, agent, isBackground } of begun) {
        sql.exec(
          `INSERT INTO children SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'begun' WHERE NOT EXISTS
            (SELECT 1 FROM children WHERE run = ?1 AND session = ?3)`,
          order,
          place,
          session,
          call,
          agent,
          isBackground ? 1 : 0,
        )
      }
    },
    ofRun: (order) => read('SELECT * FROM children WHERE run = ? ORDER BY place', order),
    ofRuns: (from, to, limit) =>
      read(
        'SELECT * FROM children WHERE run BETWEEN ? AND ? ORDER BY run, place LIMIT ?',
        from,
        to,
        limit,
      ),
    from: (session, to, limit) =>
      read(
        `SELECT children.* FROM children JOIN
          (SELECT run AS first_run, place AS first_place FROM children WHERE session = ? LIMIT 1)
          WHERE (run, place) >= (first_run, first_place) AND run <= ? ORDER BY run, place LIMIT ?`,
        session,
        to,
        limit,
      ),
    end(order, call) {
      const query = `UPDATE children SET state = 'over' WHERE run = ? AND call = ? AND state <> 'over'`
      if (exists()) sql.exec(query, order, call)
    },
    remove({ order, place }) {
      if (exists()) sql.exec('DELETE FROM children WHERE run = ? AND place = ?', order, place)
    },
    drop() {
      sql.exec('DROP TABLE IF EXISTS children')
      isMade = undefined
    },
  }
}

const toChild = (row: Record<string, SqlStorageValue>): Child => ({
  session: String(row['session']),
  order: Number(row['run']),
  place: Number(row['place']),
  call: String(row['call']),
  agent: String(row['agent']),
  isBackground: row['background'] === 1,
  isOver: row['state'] === 'over',
})
