/** What becomes of a person in a table of D1. A test holds the list to the tables that there are. */
export interface ErasedTable {
  /** Rows with the person in this column go. */
  readonly rows?: string
  /** Rows go for which this holds; the person is `?1`. */
  readonly where?: string
  /** The person becomes a pseudonym in these columns, where it is the whole value. */
  readonly names?: readonly string[]
  /** What else becomes of a row whose name is replaced. */
  readonly set?: string
  /** In columns of JSON: at which path the person is the value. A name elsewhere may be a tool, or somebody's plugin. */
  readonly values?: Readonly<Record<string, string>>
  /** In columns of JSON: at which path is an object with the person among its keys. */
  readonly keys?: Readonly<Record<string, string>>
  /** In columns of JSON: which field has lines that begin with the person (`ann: run`). */
  readonly lines?: Readonly<Record<string, string>>
  /** Or why nothing is done about it in here. */
  readonly not?: string
}

const record = 'what happened stays, without who: record.ts'

/** Every table of D1. Those that others refer to come after them. */
export const erasedTables: Readonly<Record<string, ErasedTable>> = {
  keys: { rows: 'principal' },
  oauth_grants: { rows: 'principal' },
  approvals: { rows: 'principal', values: { decided_by: '$.principal' } },
  approval_rules: { rows: 'principal', values: { decided_by: '$.principal' } },
  given_up_runs: { rows: 'principal' },
  schedules: { rows: 'principal' },
  skill_draft_writings: { rows: 'principal' },
  skill_drafts: { rows: 'principal', names: ['promoted_by'] },
  memory_owners: { rows: 'principal' },
  principals: { rows: 'id' },
  // An agent of theirs goes; its id stays taken. In those of others an entry that allowed them something allows nobody.
  agent_versions: {
    where: 'agent IN (SELECT id FROM agents WHERE owner = ?1)',
    names: ['approved_by'],
    values: { body: '$.createdBy' },
    keys: { body: '$.definition.acl.principals' },
    lines: { body: 'what' },
  },
  agents: {
    names: ['owner'],
    set: `state = 'deleted', version = 0, newest = 0, head = NULL, behind = 0`,
    keys: { head: '$.acl.principals' },
  },
  // What somebody brought or decided for everybody stays.
  plugin_versions: { names: ['installed_by'] },
  skill_versions: { names: ['installed_by'] },
  manifests: { names: ['owner'] },
  skills: { names: ['owner'] },
  plugin_usage: { names: ['principal'] },
  generations: { names: ['made_by'] },
  generation_parts: { keys: { pin: '$.policy.principals' } },
  secrets: { names: ['set_by'] },
  trusted_keys: { names: ['added_by'] },
  mcp_servers: { names: ['added_by'] },
  erasures: { names: ['asked_by'] },
  sessions: { not: 'each takes its own row with it: sessions.ts' },
  audit: { not: record },
  audit_runs: { not: record },
  plugin_bundles: { not: 'what was uploaded for everybody, under its hash' },
  d1_migrations: { not: 'names of files' },
}
