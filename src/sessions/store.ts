import type { AgentResult } from '#contracts/agent.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { Lineage, Submission } from '#contracts/session.ts'

/** What identifies a session; its one row. */
export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly principal: string
  readonly createdAtMs: number
  readonly lineage: Lineage | undefined
}

/** A run as it was accepted. Its turns and its end are rows of their own. */
export interface RunRow {
  readonly id: string
  /** Accept order within the session, from 1. */
  readonly order: number
  readonly submission: Submission
  readonly bodyHash: string
  readonly createdAtMs: number
  /** Place of `run_started` in the log; `undefined` while queued. */
  readonly startSeq: number | undefined
  readonly startedAtMs: number | undefined
  readonly cancelReason: string | undefined
  /** The turn that was open at the last wake, and how often a wake found it open. */
  readonly wakeTurn: number
  readonly wakes: number
}

/** A value over 2 MB does not fit a row: longer turns are split. A unit of UTF-16 takes up to three bytes there. */
const maxPartChars = 600_000

/**
 * The session's SQLite: three tables, none made before there is something to keep. Every method is synchronous,
 * so that what is written in one go lands in one go.
 */
export interface SessionStore {
  readonly session: () => SessionRow | undefined
  readonly createSession: (row: SessionRow) => void
  readonly insertRun: (run: RunRow) => void
  readonly updateRun: (run: RunRow) => void
  readonly runs: () => readonly RunRow[]
  readonly findRun: (id: string) => RunRow | undefined
  /** Runs without a final turn, in accept order. */
  readonly unfinishedRuns: () => readonly RunRow[]
  readonly turns: (order: number) => readonly TurnRecord[]
  readonly writeTurn: (order: number, turn: TurnRecord) => void
  readonly final: (order: number) => AgentResult | undefined
  /** Turns with an event after `seq`, with the run they belong to. */
  readonly turnsAfter: (
    seq: number,
  ) => readonly { readonly order: number; readonly turn: TurnRecord }[]
  readonly lastSeq: () => number
  /** Forgets everything, the tree's storage included. */
  readonly drop: () => void
  /** Sum of `cursor.rowsWritten` since this object started, for the benchmark. */
  readonly rowsWritten: () => number
}

export function createSessionStore(storage: DurableObjectStorage): SessionStore {
  const { sql } = storage
  let rows = 0
  let isReady: boolean | undefined

  const exec = (query: string, ...values: SqlStorageValue[]): Record<string, SqlStorageValue>[] => {
    const cursor = sql.exec(query, ...values)
    const found = cursor.toArray()
    rows += cursor.rowsWritten
    return found
  }
  const exists = (): boolean =>
    (isReady ??= exec(`SELECT 1 FROM sqlite_master WHERE name = 'turns'`).length > 0)
  const read = (query: string, ...values: SqlStorageValue[]) =>
    exists() ? exec(query, ...values) : []

  return {
    rowsWritten: () => rows,
    drop() {
      storage.transactionSync(() => {
        for (const table of ['session', 'runs', 'turns', 'items'])
          exec(`DROP TABLE IF EXISTS ${table}`)
      })
      isReady = false
    },
    session() {
      const [row] = read('SELECT * FROM session')
      return row && toSession(row)
    },
    createSession({ id, agent, principal, createdAtMs, lineage }) {
      storage.transactionSync(() => {
        exec(`CREATE TABLE IF NOT EXISTS session (
          id TEXT PRIMARY KEY, agent TEXT, principal TEXT, created_at INTEGER, lineage TEXT
        ) WITHOUT ROWID`)
        exec(`CREATE TABLE IF NOT EXISTS runs (
          id TEXT PRIMARY KEY, n INTEGER, submission TEXT, body_hash TEXT, created_at INTEGER,
          start_seq INTEGER, started_at INTEGER, cancel_reason TEXT, wake_turn INTEGER, wakes INTEGER
        ) WITHOUT ROWID`)
        exec(`CREATE TABLE IF NOT EXISTS turns (
          run INTEGER, turn INTEGER, part INTEGER, first_seq INTEGER, last_seq INTEGER,
          is_final INTEGER, body TEXT, PRIMARY KEY (run, turn, part)
        ) WITHOUT ROWID`)
        exec(
          'INSERT INTO session VALUES (?, ?, ?, ?, ?)',
          id,
          agent,
          principal,
          createdAtMs,
          lineage ? JSON.stringify(lineage) : null,
        )
      })
      isReady = true
    },
    insertRun(run) {
      exec(
        'INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        run.id,
        run.order,
        JSON.stringify(run.submission),
        run.bodyHash,
        run.createdAtMs,
        ...changing(run),
      )
    },
    updateRun(run) {
      exec(
        `UPDATE runs SET start_seq = ?, started_at = ?, cancel_reason = ?, wake_turn = ?, wakes = ? WHERE id = ?`,
        ...changing(run),
        run.id,
      )
    },
    runs: () => read('SELECT * FROM runs ORDER BY n').map(toRun),
    findRun(id) {
      const [row] = read('SELECT * FROM runs WHERE id = ?', id)
      return row && toRun(row)
    },
    unfinishedRuns: () =>
      read(
        `SELECT * FROM runs WHERE NOT EXISTS
          (SELECT 1 FROM turns WHERE turns.run = runs.n AND is_final = 1) ORDER BY n`,
      ).map(toRun),
    turns: (order) =>
      joinParts(read('SELECT * FROM turns WHERE run = ? ORDER BY turn, part', order)).map(
        ({ turn }) => turn,
      ),
    turnsAfter: (seq) =>
      joinParts(read('SELECT * FROM turns WHERE last_seq > ? ORDER BY run, turn, part', seq)),
    final(order) {
      const rows = read(
        'SELECT * FROM turns WHERE run = ? AND is_final = 1 ORDER BY turn, part',
        order,
      )
      return joinParts(rows).at(-1)?.turn.final
    },
    lastSeq() {
      const [row] = read(`SELECT max(
        coalesce((SELECT max(last_seq) FROM turns), 0), coalesce((SELECT max(start_seq) FROM runs), 0)) AS seq`)
      return Number(row?.['seq'] ?? 0)
    },
    writeTurn(order, turn) {
      const body = JSON.stringify(turn)
      const first = turn.events[0]?.seq ?? null
      const last = turn.events.at(-1)?.seq ?? null
      const isFinal = turn.final ? 1 : 0
      const parts = toParts(body)
      const write = () => {
        for (const [part, text] of parts.entries()) {
          exec(
            `INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, turn, part) DO UPDATE SET
              first_seq = excluded.first_seq, last_seq = excluded.last_seq,
              is_final = excluded.is_final, body = excluded.body`,
            order,
            turn.turn,
            part,
            first,
            last,
            isFinal,
            text,
          )
        }
      }
      // Turns only grow, so a rewrite never leaves an old part behind.
      if (parts.length === 1) write()
      else storage.transactionSync(write)
    },
  }
}

const changing = ({ startSeq, startedAtMs, cancelReason, wakeTurn, wakes }: RunRow) =>
  [startSeq ?? null, startedAtMs ?? null, cancelReason ?? null, wakeTurn, wakes] as const

type Row = Record<string, SqlStorageValue>

const toSession = (row: Row): SessionRow => ({
  id: String(row['id']),
  agent: String(row['agent']),
  principal: String(row['principal']),
  createdAtMs: Number(row['created_at']),
  lineage: typeof row['lineage'] === 'string' ? (JSON.parse(row['lineage']) as Lineage) : undefined,
})

const toRun = (row: Row): RunRow => ({
  id: String(row['id']),
  order: Number(row['n']),
  submission: JSON.parse(String(row['submission'])) as Submission,
  bodyHash: String(row['body_hash']),
  createdAtMs: Number(row['created_at']),
  startSeq: row['start_seq'] === null ? undefined : Number(row['start_seq']),
  startedAtMs: row['started_at'] === null ? undefined : Number(row['started_at']),
  cancelReason: row['cancel_reason'] === null ? undefined : String(row['cancel_reason']),
  wakeTurn: Number(row['wake_turn']),
  wakes: Number(row['wakes']),
})

/** Cuts a text into parts that fit a row, never between the two units of one character. */
function toParts(text: string): readonly string[] {
  const parts: string[] = []
  for (let start = 0; start < text.length; start += parts.at(-1)!.length) {
    const part = text.slice(start, start + maxPartChars)
    const isCut = start + part.length < text.length && /[\uD800-\uDBFF]$/.test(part)
    parts.push(isCut ? part.slice(0, -1) : part)
  }
  return parts
}

function joinParts(rows: readonly Row[]): { order: number; turn: TurnRecord }[] {
  const bodies = new Map<string, { order: number; text: string }>()
  for (const row of rows) {
    const key = `${row['run']}:${row['turn']}`
    const before = bodies.get(key)?.text ?? ''
    bodies.set(key, { order: Number(row['run']), text: before + String(row['body']) })
  }
  return [...bodies.values()].map(({ order, text }) => ({
    order,
    turn: JSON.parse(text) as TurnRecord,
  }))
}
