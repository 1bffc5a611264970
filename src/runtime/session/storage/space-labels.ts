import { joinLabels, labelSchema, type Label } from '#contracts/label.ts'

/**
 * The labels of what is kept in `items`, in a table of their own: an older version goes on writing its rows. A label
 * holds for what was written with it, at that time; whatever else stands there is the worst.
 */
export interface SpaceLabels {
  /** `items` with the label of each, null where nobody labelled what is there. */
  readonly labelled: () => string
  /** Before a transaction: a table that is made in one goes with it. */
  readonly prepare: () => void
  readonly set: (
    at: { readonly space: string; readonly key: string; readonly nowMs: number },
    label: Label | undefined,
  ) => void
  /** Of a value that is gone, or of all of them. */
  readonly remove: (space: string, key?: string) => void
}

/** @param sql Of an object that has `items`, if it has any table. */
export function createSpaceLabels(sql: SqlStorage): SpaceLabels {
  let isReady: boolean | undefined
  const isThere = () =>
    (isReady ??= [...sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'labels'`)].length > 0)
  return {
    labelled: () =>
      isThere()
        ? 'items LEFT JOIN labels USING (space, key, at)'
        : '(SELECT *, NULL AS label FROM items)',
    prepare() {
      if (isThere()) return
      sql.exec(`CREATE TABLE labels (
        space TEXT, key TEXT, at INTEGER, label TEXT, PRIMARY KEY (space, key)) WITHOUT ROWID`)
      isReady = true
    },
    set({ space, key, nowMs }, label) {
      const text = JSON.stringify(joinLabels([label]))
      sql.exec('INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?)', space, key, nowMs, text)
    },
    remove(space, key) {
      if (!isThere()) return
      if (key === undefined) sql.exec('DELETE FROM labels WHERE space = ?', space)
      else sql.exec('DELETE FROM labels WHERE space = ? AND key = ?', space, key)
    },
  }
}

/** Of all of these rows; each label is read once. */
export const labelOfRows = (rows: readonly Record<string, SqlStorageValue>[]): Label =>
  joinLabels([...new Set(rows.map(({ label }) => label))].map(parse))

function parse(text: SqlStorageValue | undefined): Label | undefined {
  return typeof text === 'string' ? labelSchema.safeParse(JSON.parse(text)).data : undefined
}
