import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Row } from './log-rows.ts'

/** A session that works for a call of this session. */
export interface Child {
  readonly session: string
  /** Place of the run that asked for it. */
  readonly order: number
  /** Its place among the children of its run. */
  readonly place: number
  readonly call: string
  readonly agent: string
  readonly isBackground: boolean
}

export type BegunChild = Omit<Child, 'order'>

/**
 * The children of a session, in the order of their calls. The row of the turn that begins them has them in a column
 * of its own. They are written with the intent of their call, so a child is known before it begins.
 */
export type Children = ReturnType<typeof createChildren>

/** Places of one turn: first its own calls, then the calls that the code of a call makes. */
const placesPerTurn = 1_000_000_000
const firstInner = 1_000_000

export interface ChildNames {
  /** The agent of a call, if an agent works on it, and whether the run waits for the agent. */
  readonly agentOf: (
    name: string,
    input: JsonObject,
  ) => { readonly agent: string; readonly isBackground: boolean } | undefined
  /** The session of a call. */
  readonly sessionOf: (call: string) => string
}

/**
 * The children that a turn begins: its calls of agents once they have their lease, and children that its events
 * name.
 */
export function childrenIn({ turn, calls, events }: TurnRecord, names?: ChildNames): BegunChild[] {
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

/** The children as the row of their turn has them. */
export const toChildrenText = (begun: readonly BegunChild[]): string => JSON.stringify(begun)

function parse(text: string): BegunChild[] | undefined {
  try {
    const begun: unknown = JSON.parse(text)
    return Array.isArray(begun) ? (begun as BegunChild[]) : undefined
  } catch {
    return undefined
  }
}

const turnOf = ({ place }: Pick<Child, 'place'>): number => Math.floor(place / placesPerTurn)

/** @param onDamaged Called with the run of a row whose children cannot be read: the row counts as without children. */
export function createChildren(
  { sql }: DurableObjectStorage,
  onDamaged: (order: number) => void = () => {},
) {
  const childrenOf = ({ run, id }: Row): Child[] => {
    const order = Number(run)
    const begun = parse(String(id))
    if (!begun) onDamaged(order)
    return (begun ?? []).map((child) => ({ ...child, order }))
  }
  const read = (query: string, ...values: SqlStorageValue[]): Child[] =>
    sql
      .exec(query, ...values)
      .toArray()
      .flatMap(childrenOf)
  const inRuns = `SELECT run, turn, id FROM log WHERE (run, turn) > (?, ?) AND run <= ? AND turn > 0
    AND part = 0 AND id IS NOT NULL ORDER BY run, turn`
  const ofTurn = (order: number, turn: number): BegunChild[] =>
    read(
      'SELECT run, id FROM log WHERE run = ? AND turn = ? AND part = 0 AND id IS NOT NULL',
      order,
      turn,
    ).map(({ order: _run, ...child }) => child)
  const write = (order: number, turn: number, begun: readonly BegunChild[]) => {
    const query = 'UPDATE log SET id = ? WHERE run = ? AND turn = ? AND part = 0'
    sql.exec(query, begun.length > 0 ? toChildrenText(begun) : null, order, turn)
  }

  return {
    ofTurn,
    /** Notes children that are not noted yet, in the rows of stored turns. */
    add: (order: number, begun: readonly BegunChild[]) => {
      for (const turn of new Set(begun.map(turnOf))) {
        const before = ofTurn(order, turn)
        const known = new Set(before.map(({ session }) => session))
        const more = begun.filter((child) => turnOf(child) === turn && !known.has(child.session))
        if (more.length > 0) write(order, turn, [...before, ...more])
      }
    },
    ofRun: (order: number) => read(inRuns, order, 0, order),
    /** The children of the runs from one to another, both included; at most `limit`. */
    ofRuns: (from: number, to: number, limit: number) => {
      for (let [run, turn] = [from, 0]; ;) {
        const rows = sql.exec(`${inRuns} LIMIT ?`, run, turn, to, limit).toArray()
        // A row has at least one child, unless it is damaged.
        const found = rows.flatMap(childrenOf).slice(0, limit)
        const last = rows.at(-1)
        if (found.length > 0 || !last || rows.length < limit) return found
        ;[run, turn] = [Number(last['run']), Number(last['turn'])]
      }
    },
    /** This child and the children behind it, of the runs up to `to`; at most `limit`. */
    from: (session: string, to: number, limit: number) => {
      const named = `"session":${JSON.stringify(session)}`
      const rows = read(
        `SELECT run, id FROM log WHERE (run, turn) >=
          (SELECT run, turn FROM log WHERE run <= ? AND turn > 0 AND part = 0 AND instr(id, ?) > 0
            ORDER BY run DESC, turn DESC LIMIT 1)
          AND run <= ? AND turn > 0 AND part = 0 AND id IS NOT NULL ORDER BY run, turn LIMIT ?`,
        to,
        named,
        to,
        limit + 1, // the first row may begin with others
      )
      const at = rows.findIndex((child) => child.session === session)
      return rows.slice(at, at + limit)
    },
    /** Forgets deleted children; writes the row of each turn once. */
    remove: (gone: readonly Child[]) => {
      const turns = Map.groupBy(gone, (child) => `${child.order} ${turnOf(child)}`)
      for (const those of turns.values()) {
        const [{ order }, turn] = [those[0]!, turnOf(those[0]!)]
        const sessions = new Set(those.map(({ session }) => session))
        write(
          order,
          turn,
          ofTurn(order, turn).filter(({ session }) => !sessions.has(session)),
        )
      }
    },
  }
}
