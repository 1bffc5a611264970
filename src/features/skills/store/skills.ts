import type {
  InstalledSkill,
  SkillRow,
  SkillStore,
  SkillVersion,
} from '#runtime/catalog/types/skill-catalog.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/database.ts'

const rowColumns = 'name, hash, state, owner'
const versionColumns =
  'skill, hash, tier, source, signer, about, installed_by, installed_at_ms, size_bytes'
const joined = `
  SELECT s.name, s.state, s.owner, s.hash AS has, v.* FROM skills AS s
  LEFT JOIN skill_versions AS v ON v.skill = s.name AND v.hash = s.hash AND v.collected_at_ms IS NULL`

const upsert = `
  INSERT INTO skills (${rowColumns}) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (name) DO UPDATE SET (hash, state, owner) = (?2, ?3, ?4)`
// An upload of a stored version changes nothing but its signature. A version whose files were deleted is stored anew.
const insertVersion = `
  INSERT INTO skill_versions (${versionColumns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
  ON CONFLICT (skill, hash) DO UPDATE SET (tier, signer, about) = (?3, ?5, ?6),
    source = iif(collected_at_ms IS NULL, source, ?4),
    installed_by = iif(collected_at_ms IS NULL, installed_by, ?7),
    installed_at_ms = iif(collected_at_ms IS NULL, installed_at_ms, ?8), size_bytes = ?9, collected_at_ms = NULL
  WHERE ?5 IS NOT NULL OR collected_at_ms IS NOT NULL`

/** The tables of installed skills. Their rows are written with the generation they belong to (`plugins.ts`). */
export function createSkillStore(database: Database): SkillStore {
  const all = async <Row>(sql: string, ...values: readonly string[]) => {
    const query = () =>
      database
        .prepare(sql)
        .bind(...values)
        .all<Row>()
    return (await reached(query)).results
  }
  return {
    async find(name) {
      const [row] = await all<JoinedRow>(`${joined} WHERE s.name = ?1`, name)
      return row && { ...toRow(row), ...(isKept(row) && { version: toVersion(row) }) }
    },
    async list(state) {
      const those = state === undefined ? "<> 'removed'" : "= 'enabled'"
      const rows = await all<JoinedRow>(`${joined} WHERE s.state ${those} ORDER BY s.name`)
      return rows.filter(isKept).map((row): InstalledSkill => ({
        ...toRow(row),
        version: toVersion(row),
      }))
    },
    async versions(name) {
      const sql = `SELECT ${versionColumns} FROM skill_versions
        WHERE skill = ?1 AND collected_at_ms IS NULL ORDER BY installed_at_ms DESC, hash LIMIT 100`
      return (await all<VersionRow>(sql, name)).map(toVersion)
    },
    rows: () => all<SkillRow>(`SELECT ${rowColumns} FROM skills`),
    async kept(hashes) {
      const sql = `SELECT ${versionColumns} FROM skill_versions
        WHERE collected_at_ms IS NULL AND hash IN (SELECT value FROM json_each(?1))`
      return (await all<VersionRow>(sql, JSON.stringify(hashes))).map(toVersion)
    },
  }
}

/** Statements that write skills and a version, for one batch with the rest of a change. */
export const skillRows = (
  database: Database,
  rows: readonly SkillRow[],
  version: SkillVersion | undefined,
): readonly Statement[] => [
  ...rows.map(({ name, hash, state, owner }) =>
    database.prepare(upsert).bind(name, hash, state, owner),
  ),
  ...(version ? [database.prepare(insertVersion).bind(...toColumns(version))] : []),
]

interface VersionRow {
  readonly skill: string
  readonly hash: string
  readonly tier: SkillVersion['tier']
  readonly source: string
  readonly signer: string | null
  readonly about: string
  readonly installed_by: string
  readonly installed_at_ms: number
  readonly size_bytes: number
}

type JoinedRow = Omit<SkillRow, 'hash'> & { readonly has: string } & (
    | VersionRow
    | { readonly skill: null }
  )

const isKept = (row: JoinedRow): row is JoinedRow & VersionRow => row.skill !== null
const toRow = ({ name, state, owner, has }: JoinedRow): SkillRow => ({
  name,
  hash: has,
  state,
  owner,
})

type About = Omit<
  SkillVersion,
  'name' | 'hash' | 'tier' | 'source' | 'signer' | 'installedBy' | 'installedAtMs' | 'sizeBytes'
>

const toVersion = (row: VersionRow): SkillVersion => ({
  ...(JSON.parse(row.about) as About),
  name: row.skill,
  hash: row.hash,
  tier: row.tier,
  source: row.source,
  ...(row.signer !== null && { signer: row.signer }),
  installedBy: row.installed_by,
  installedAtMs: row.installed_at_ms,
  sizeBytes: row.size_bytes,
})

function toColumns(version: SkillVersion) {
  const { name, hash, tier, source, signer, installedBy, installedAtMs, sizeBytes, ...about } =
    version
  const texts = [name, hash, tier, source, signer ?? null, JSON.stringify(about)]
  return [...texts, installedBy, installedAtMs, sizeBytes]
}
