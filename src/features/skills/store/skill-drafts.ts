import { deploymentEvent } from '#contracts/event.ts'
import type {
  DraftSummary,
  DraftWriting,
  SketchedText,
  SkillDraft,
  DraftBudget,
  OverBudget,
} from '#runtime/catalog/types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { Label } from '#contracts/label.ts'

const dayMs = 86_400_000
const maxWritings = 50

/** Counts for a principal's day and for a run, also where no draft came of it. */
const insertWriting = `
  INSERT INTO skill_draft_writings (run, call, draft, session, principal, agent, model, tools, label, hash, at_ms)
  SELECT ?1, ?2, '', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
  WHERE (SELECT count(*) FROM skill_draft_writings WHERE run = ?1) < ?11
    AND (SELECT count(*) FROM skill_draft_writings WHERE principal = ?4 AND at_ms >= ?12) < ?13
  ON CONFLICT (run, call) DO NOTHING`
const countWritings = `
  SELECT count(*) AS of_run, coalesce(sum(call = ?2), 0) AS has FROM skill_draft_writings WHERE run = ?1`

const openOf = `SELECT count(*) FROM skill_drafts WHERE state = 'open'`
const newest = `(SELECT coalesce(max(n), 0) FROM skill_drafts)`
const insertDraft = `
  INSERT INTO skill_drafts (id, state, name, description, requires, hash, files, sketch, label, principal, count,
    first_at_ms, last_at_ms)
  SELECT ?1, 'open', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10, ?10
  WHERE ${newest} = ?11 AND (${openOf}) < ?12 AND (${openOf} AND principal = ?9) < ?13
  ON CONFLICT (id) DO NOTHING`
const roomLeft = `
  SELECT EXISTS (SELECT 1 FROM skill_drafts WHERE id = ?1) AS has, ${newest} AS newest, (${openOf}) AS open`

/** One statement, and a row at least: between two statements another writer could go unseen. */
const openSketches = `
  SELECT newest, id, sketch, label, principal FROM (SELECT ${newest} AS newest)
  LEFT JOIN skill_drafts ON state = 'open'`

/** The writing has found its draft; another time nothing is counted for it. */
const settle = `
  UPDATE skill_draft_writings SET draft = ?1
  WHERE run = ?2 AND call = ?3 AND draft = '' AND EXISTS (SELECT 1 FROM skill_drafts WHERE id = ?1 AND state = 'open')`
const isOpen = `id = ?1 AND state = 'open'
  AND EXISTS (SELECT 1 FROM skill_draft_writings WHERE run = ?2 AND call = ?3 AND draft = '')`
const countUp = `UPDATE skill_drafts SET count = count + 1, last_at_ms = max(last_at_ms, ?4) WHERE ${isOpen}`
const replaceText = `
  UPDATE skill_drafts SET name = ?4, description = ?5, requires = ?6, hash = ?7, files = ?8, sketch = ?9, label = ?10
  WHERE ${isOpen}`

const columns = `id, state, name, description, requires, hash, label, principal, count, first_at_ms AS firstAtMs,
  last_at_ms AS lastAtMs, promoted_by AS promotedBy, promoted_at_ms AS promotedAtMs`
const writingColumns =
  'session, run, call, principal, agent, model, tools, label, hash, at_ms AS atMs'
/** A removed draft still counts for its day. */
const forget = `UPDATE skill_draft_writings SET draft = '' WHERE draft = ?1`

/** The tables of skills that agents wrote. */
export function createSkillDrafts(database: Database, clock: Pick<Clock, 'nowMs'>) {
  const all = async <Row>(sql: string, ...values: readonly (string | number)[]) => {
    const statement = database.prepare(sql).bind(...values)
    return (await reached(() => statement.all<Row>())).results
  }
  const batch = async <Row>(statements: Statement[]): Promise<Row | undefined> => {
    const found = await reached(() => database.batch(statements))
    return found.at(-1)?.results[0] as Row | undefined
  }
  const find = async (id: string): Promise<SkillDraft | undefined> => {
    const [row] = await all<DraftRow & { readonly files: string }>(
      `SELECT ${columns}, files FROM skill_drafts WHERE id = ?1`,
      id,
    )
    if (!row) return undefined
    const writings = await all<WritingRow>(
      `SELECT ${writingColumns} FROM skill_draft_writings WHERE draft = ?1 ORDER BY at_ms DESC LIMIT ${maxWritings}`,
      id,
    )
    return { ...toSummary(row), files: JSON.parse(row.files), writings: writings.map(toWriting) }
  }
  return {
    /**
     * Counts a write for its run and its principal's day (UTC), and checks the budgets in the same step. The same call
     * again counts once.
     *
     * @returns The budget that is used up, if any.
     */
    async take(
      writing: DraftWriting,
      { perRun, perDay }: Pick<DraftBudget, 'perRun' | 'perDay'>,
    ): Promise<OverBudget | undefined> {
      const { run, call, session, principal, agent, model = null, hash, atMs } = writing
      const texts = [JSON.stringify(writing.tools), JSON.stringify(writing.label), hash]
      const row = [run, call, session, principal, agent, model, ...texts, atMs]
      const day = Math.floor(atMs / dayMs) * dayMs
      const counted = await batch<{ readonly of_run: number; readonly has: number }>([
        database.prepare(insertWriting).bind(...row, perRun, day, perDay),
        database.prepare(countWritings).bind(run, call),
      ])
      if (counted?.has) return undefined
      return (counted?.of_run ?? 0) >= perRun ? 'perRun' : 'perDay'
    },
    /** Open drafts, and a mark of the newest of all: `add` is refused once there is a newer one. */
    async sketches() {
      const rows = await all<SketchRow>(openSketches)
      const drafts = rows.flatMap(({ id, sketch, label, principal }) =>
        id === null ? [] : { id, sketch, label: JSON.parse(label) as Label, principal },
      )
      return { mark: rows[0]!.newest, drafts }
    },
    /**
     * @returns `late` if another draft came after `mark`, or the budget that is used up. The same id again changes
     *   nothing.
     */
    async add(
      { id, ...text }: SketchedText & { readonly id: string },
      { run, call, principal, label, atMs }: DraftWriting,
      room: Pick<DraftBudget, 'open' | 'openOfPrincipal'> & { readonly mark: number },
    ): Promise<'late' | OverBudget | undefined> {
      const row = [id, ...textColumns(text), JSON.stringify(label), principal, atMs]
      const left = await batch<{ readonly has: number; readonly newest: number; open: number }>([
        database.prepare(insertDraft).bind(...row, room.mark, room.open, room.openOfPrincipal),
        database.prepare(settle).bind(id, run, call),
        database.prepare(roomLeft).bind(id),
      ])
      if (left?.has) return undefined
      if (left?.newest !== room.mark) return 'late'
      return left.open >= room.open ? 'open' : 'openOfPrincipal'
    },
    /**
     * Counts one more writing of an open draft.
     *
     * @param text Replaces the draft's text, if given.
     * @returns Whether the draft was still open.
     */
    async merge(
      id: string,
      { run, call, label, atMs }: DraftWriting,
      text: SketchedText | undefined,
    ) {
      const at = [id, run, call] as const
      const now = text && [...at, ...textColumns(text), JSON.stringify(label)]
      const settled = await batch<{ readonly draft: string }>([
        ...(now ? [database.prepare(replaceText).bind(...now)] : []),
        database.prepare(countUp).bind(...at, atMs),
        database.prepare(settle).bind(...at),
        database
          .prepare('SELECT draft FROM skill_draft_writings WHERE run = ?1 AND call = ?2')
          .bind(run, call),
      ])
      return settled?.draft === id
    },
    async list(limit: number) {
      const sql = `SELECT ${columns} FROM skill_drafts ORDER BY state, last_at_ms DESC LIMIT ?1`
      return (await all<DraftRow>(sql, limit)).map(toSummary)
    },
    find,
    /** Promotes the draft together with its event. @returns Whether it was open with this text. */
    async promote(id: string, hash: string, by: Administrator) {
      const draft = await find(id)
      if (!draft) return false
      const { name, count, label } = draft
      const atMs = clock.nowMs()
      const about = { draft: id, name, hash, count, label, request: by.requestId }
      const isAsShown = `id = ?6 AND state = 'open' AND hash = ?7`
      const [, promoted] = await reached(() =>
        database.batch([
          eventRow(database, deploymentEvent('skill_promoted', { ...by, atMs }, about), {
            condition: `EXISTS (SELECT 1 FROM skill_drafts WHERE ${isAsShown})`,
            values: [id, hash],
          }),
          database
            .prepare(
              `UPDATE skill_drafts SET state = 'promoted', promoted_by = ?3, promoted_at_ms = ?4
               WHERE id = ?1 AND state = 'open' AND hash = ?2 RETURNING id`,
            )
            .bind(id, hash, by.principal, atMs),
        ]),
      )
      return (promoted?.results.length ?? 0) > 0
    },
    /** Removes the draft together with its event. @returns Whether it existed. */
    async remove(id: string, by: Administrator) {
      const draft = await find(id)
      if (!draft) return false
      const { name, hash } = draft
      const place = { ...by, atMs: clock.nowMs() }
      const about = { draft: id, name, hash, request: by.requestId }
      const event = deploymentEvent('skill_draft_removed', place, about)
      await reached(() => database.batch(removal(database, { id, event })))
      return true
    },
  }
}

/** The store of drafts. Each verb throws `request_unavailable`. */
export type SkillDraftStore = ReturnType<typeof createSkillDrafts>

/** Removes a draft and writes the event, if the draft exists and `only` holds. */
export function removal(
  database: Database,
  {
    id,
    event,
    only = 'true',
  }: {
    readonly id: string
    readonly event: Parameters<typeof eventRow>[1]
    readonly only?: string
  },
): Statement[] {
  const condition = `EXISTS (SELECT 1 FROM skill_drafts WHERE id = ?6 AND ${only})`
  return [
    eventRow(database, event, { condition, values: [id] }),
    database.prepare(`DELETE FROM skill_drafts WHERE id = ?1 AND ${only}`).bind(id),
    database
      .prepare(`${forget} AND NOT EXISTS (SELECT 1 FROM skill_drafts WHERE id = ?1)`)
      .bind(id),
  ]
}

interface SketchRow extends Record<'sketch' | 'label' | 'principal', string> {
  readonly newest: number
  /** None is open. */
  readonly id: string | null
}

interface DraftRow extends Omit<
  DraftSummary,
  'requires' | 'label' | 'promotedBy' | 'promotedAtMs'
> {
  readonly requires: string
  readonly label: string
  readonly promotedBy: string | null
  readonly promotedAtMs: number | null
}

interface WritingRow extends Omit<DraftWriting, 'model' | 'tools' | 'label'> {
  readonly model: string | null
  readonly tools: string
  readonly label: string
}

const textColumns = ({ name, description, requires, hash, files, sketch }: SketchedText) => [
  name,
  description,
  JSON.stringify(requires),
  hash,
  JSON.stringify(files),
  sketch,
]

const toSummary = ({
  requires,
  label,
  promotedBy,
  promotedAtMs,
  ...row
}: DraftRow): DraftSummary => ({
  ...row,
  requires: JSON.parse(requires),
  label: JSON.parse(label),
  ...(promotedBy !== null && { promotedBy }),
  ...(promotedAtMs !== null && { promotedAtMs }),
})

const toWriting = ({ model, tools, label, ...row }: WritingRow): DraftWriting => ({
  ...row,
  ...(model !== null && { model }),
  tools: JSON.parse(tools),
  label: JSON.parse(label),
})

const batchDrafts = 25

/**
 * Deletes drafts that no operator promoted and no agent wrote again since `beforeMs`, each with an event on the
 * record; and the daily counts of days that are over.
 */
export async function expireDrafts(
  database: Database,
  { beforeMs, nowMs }: { readonly beforeMs: number; readonly nowMs: number },
): Promise<void> {
  const isOld = `state = 'open' AND last_at_ms < ${Math.floor(beforeMs)}`
  const select = `SELECT id, name, hash, last_at_ms AS lastAtMs FROM skill_drafts WHERE ${isOld} LIMIT ${batchDrafts}`
  for (;;) {
    const { results } = await database.prepare(select).all<{
      readonly id: string
      readonly name: string
      readonly hash: string
      readonly lastAtMs: number
    }>()
    if (results.length === 0) break
    const place = { principal: '', trace: '', atMs: nowMs }
    const statements = results.flatMap(({ id, ...about }) => {
      const event = deploymentEvent('skill_draft_expired', place, { draft: id, ...about })
      return removal(database, { id, event, only: isOld })
    })
    await database.batch(statements)
  }
  await database
    .prepare(`DELETE FROM skill_draft_writings WHERE draft = '' AND at_ms < ?1`)
    .bind(nowMs - 2 * 86_400_000)
    .run()
}
