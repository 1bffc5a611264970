import { joinLabels, labelSchema, type Label } from '#contracts/label.ts'

/**
 * The labels of what is kept in `items`, in a table of their own: an older version goes on writing its rows, and what is
 * the user's own and nobody else's needs none.
 */
export interface SpaceLabels {
  /** Of one value, or of all whose key begins so. Nobody labelled what was kept before there were labels. */
  readonly of: (space: string, key: string | { readonly prefix: string }) => Label | undefined
  readonly set: (space: string, key: string, label: Label | undefined) => void
  /** Of values that are gone. */
  readonly sweep: (space: string) => void
}

/** What needs no row: nothing in it is a stranger's, a tool's or private. */
const plain: Label = { integrity: 'user', confidentiality: 'said', sources: [] }
const isPlain = ({ integrity, confidentiality, sources }: Label): boolean =>
  (integrity === 'operator' || integrity === 'user') &&
  confidentiality !== 'private' &&
  sources.length === 0

const unknown = JSON.stringify(joinLabels([undefined]))

/** @param sql Of an object that has `items`, if it has any table. */
export function createSpaceLabels(sql: SqlStorage): SpaceLabels {
  let isReady: boolean | undefined
  const isThere = () =>
    (isReady ??= [...sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'labels'`)].length > 0)
  const prepare = () => {
    if (isThere()) return
    sql.exec(
      `CREATE TABLE labels (space TEXT, key TEXT, label TEXT, PRIMARY KEY (space, key)) WITHOUT ROWID`,
    )
    // What an older version kept: nobody knows what had been read before.
    sql.exec('INSERT INTO labels SELECT space, key, ? FROM items', unknown)
    isReady = true
  }
  return {
    of(space, key) {
      if (!isThere()) return undefined
      const rows =
        typeof key === 'string'
          ? sql.exec('SELECT label FROM labels WHERE space = ? AND key = ?', space, key)
          : sql.exec(
              'SELECT DISTINCT label FROM labels WHERE space = ?1 AND substr(key, 1, ?2) = ?3',
              space,
              key.prefix.length,
              key.prefix,
            )
      return joinLabels([plain, ...rows.toArray().map((row) => parse(String(row['label'])))])
    },
    set(space, key, label = joinLabels([undefined])) {
      prepare()
      if (isPlain(label)) sql.exec('DELETE FROM labels WHERE space = ? AND key = ?', space, key)
      else
        sql.exec(
          'INSERT OR REPLACE INTO labels VALUES (?, ?, ?)',
          space,
          key,
          JSON.stringify(label),
        )
    },
    sweep(space) {
      if (!isThere()) return
      sql.exec(
        `DELETE FROM labels WHERE space = ?1 AND key NOT IN
          (SELECT key FROM items WHERE space = ?1)`,
        space,
      )
    },
  }
}

function parse(text: string): Label | undefined {
  return labelSchema.safeParse(JSON.parse(text)).data
}
