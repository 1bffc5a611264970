import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import { deploymentEventSchemas } from '#contracts/events/deployment-event-schemas.ts'
import { eventSchemas } from '#contracts/event-schemas.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createDeploymentLog } from '../../../src/platform/d1/deployment-log.ts'
import {
  createRecordPlaces,
  withoutTexts,
} from '../../../src/features/record/store/erasure/record.ts'
import {
  createTablePlaces,
  erasedTables,
} from '../../../src/features/record/store/erasure/table-places.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { deploymentEventOf, storedEvent } from '../../fakes/events.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const person = { principal: 'ann', pseudonym: 'erased_1' }
/** Columns whose names say that they hold a principal. */
const isSomebody = /principal|owner|_by$/

describe('I21: what becomes of a person in D1', () => {
  it('every table of D1 is an entry, and every column with a principal in it is named there', () => {
    const { sqlite } = createSqliteDatabase()
    const tables = sqlite
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .all()
      .map(({ name }) => String(name))
    expect(new Set(Object.keys(erasedTables))).toEqual(new Set([...tables, 'd1_migrations']))
    const missing = tables.flatMap((table) => {
      const { rows, names = [], values = {}, not } = erasedTables[table]!
      const columns = sqlite.prepare(`PRAGMA table_info("${table}")`).all()
      return (
        columns
          .map(({ name }) => String(name))
          .filter((name) => isSomebody.test(name) && not === undefined)
          // Whose whole row goes takes its owner with it.
          .filter((name) => name !== rows && !names.includes(name) && !(name in values))
          .filter((name) => !(rows !== undefined && ['owner', 'followed_by'].includes(name)))
          .filter((name) => !(table === 'erasures' && name === 'principal'))
          .map((name) => `${table}.${name}`)
      )
    })
    expect(missing).toEqual([])
  })

  it('rows go, names become the pseudonym, and a second time nothing is found', async () => {
    const { database, sqlite } = createSqliteDatabase()
    sqlite.exec(`
      INSERT INTO principals (id, role, created_at_ms) VALUES ('ann', 'user', 1), ('anna', 'user', 1);
      INSERT INTO keys (id, principal, hash, hint, created_at_ms) VALUES ('k1', 'ann', 'h', 'h', 1), ('k2', 'anna', 'i', 'h', 1);
      INSERT INTO secrets VALUES ('S', 'x', 'k', 'ann', 1);
      INSERT INTO generation_parts VALUES ('policy', 'policy', 1, NULL, '{"policy":{"principals":{"ann":{"allow":[]},"anna":{}}}}');
      INSERT INTO agents VALUES ('mine', 'ann', 'active', 1, 1, 1, '{"acl":{"principals":{}}}', 1),
        ('other', 'anna', 'active', 1, 1, 1, '{"acl":{"principals":{"ann":["run"]}}}', 0);
      INSERT INTO agent_versions VALUES ('mine', 1, '{}', NULL, NULL),
        ('other', 1, '{"definition":{"acl":{"principals":{"ann":["run"]}}},"needs":[{"what":"ann: run"}]}', 'ann', 2);`)
    const once = async () => {
      let sum = 0
      for (const place of createTablePlaces(database)) sum += (await place.erase(person, 0)).erased
      return sum
    }
    expect(await once()).toBe(10)
    const tables = ['principals', 'keys', 'secrets', 'generation_parts', 'agents', 'agent_versions']
    const all = tables.flatMap((table) => sqlite.prepare(`SELECT * FROM ${table}`).all())
    expect(JSON.stringify(all)).not.toMatch(/ann\b/)
    expect(all).toHaveLength(7)
    // The id stays taken, as after any deletion.
    expect(all[4]).toMatchObject({ id: 'mine', owner: 'erased_1', state: 'deleted', version: 0 })
    expect(all[5]).toMatchObject({ id: 'other', owner: 'anna', state: 'active', version: 1 })
    expect(JSON.stringify(all)).toContain('erased_1')
    expect(await once()).toBe(0)
  })

  it('I21: a name that is a word of ours too, or an id, is replaced only where it names a person', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const decided = (by: string) =>
      JSON.stringify({ principal: by, role: 'operator', via: 'inbox', tool: 'tool' })
    const pin = { id: 'tool', config: { by: 'tool', owner: 'tool', principals: { tool: 1 } } }
    const policy = { principals: { tool: { allow: ['tool'] } }, agents: { tool: { deny: [] } } }
    const sharing = (name: string) => ({
      definition: {
        id: 'tool',
        tools: ['tool'],
        acl: { roles: {}, principals: { [name]: ['run'] } },
      },
      createdBy: name,
      needs: [
        { kind: 'tool', what: 'tool' },
        { kind: 'share', what: `${name}: run` },
      ],
    })
    const shared = sharing('tool')
    sqlite.exec(`
      INSERT INTO approval_rules VALUES ('r1', 'bob', 'tool', 'tool', 'h', NULL, '[]', 's', '{}', '${decided('tool')}', 1, 2);
      INSERT INTO generation_parts VALUES ('plugin', 'tool', 1, NULL, '${JSON.stringify(pin)}');
      INSERT INTO generation_parts VALUES ('policy', 'policy', 1, NULL, '${JSON.stringify({ id: 'policy', policy })}');
      INSERT INTO agents VALUES ('tool', 'bob', 'active', 1, 1, 1, NULL, 0), ('mine', 'tool', 'active', 1, 1, 1, NULL, 0);
      INSERT INTO agent_versions VALUES ('tool', 1, '${JSON.stringify(shared)}', 'tool', 1), ('mine', 1, '{}', NULL, NULL);
      INSERT INTO mcp_servers VALUES ('tool', '{}', 'enabled', NULL, '["tool"]', 1, 'bob', 1);`)
    const named = { principal: 'tool', pseudonym: 'erased_1' }
    const once = async () => {
      let sum = 0
      for (const place of createTablePlaces(database)) sum += (await place.erase(named, 0)).erased
      return sum
    }
    expect(await once()).toBe(8)
    expect(await once()).toBe(0)
    const read = (sql: string) => Object.values(sqlite.prepare(sql).get()!).map(String)
    const [by, agent] = read('SELECT decided_by, agent FROM approval_rules')
    expect(JSON.parse(by!)).toMatchObject({ principal: 'erased_1', tool: 'tool' })
    expect(agent).toBe('tool')
    const pins = sqlite.prepare('SELECT pin FROM generation_parts ORDER BY kind').all()
    const [plugin, ofPolicy] = pins.map((row) => JSON.parse(String(row['pin'])) as object)
    expect(plugin).toEqual(pin)
    const after = { ...policy, principals: { erased_1: { allow: ['tool'] } } }
    expect(ofPolicy).toEqual({ id: 'policy', policy: after })
    expect(read('SELECT agent, approved_by FROM agent_versions')).toEqual(['tool', 'erased_1'])
    expect(JSON.parse(read('SELECT body FROM agent_versions')[0]!)).toEqual(sharing('erased_1'))
    const agents = sqlite.prepare('SELECT id, owner, state FROM agents ORDER BY id').all()
    expect(agents.map((row) => Object.values(row).join(' '))).toEqual([
      'mine erased_1 deleted',
      'tool bob active',
    ])
    expect(read('SELECT id, confirmed FROM mcp_servers')).toEqual(['tool', '["tool"]'])
  })

  it('no key is made for a principal that is being erased', async () => {
    const { sqlite } = createSqliteDatabase()
    sqlite.exec(`
      INSERT INTO principals (id, role, created_at_ms) VALUES ('ann', 'user', 1);
      INSERT INTO erasures VALUES ('e1', 'ann', 'running', 'operator', 1, 1, '{}');`)
    const add = `INSERT INTO keys (id, principal, hash, hint, created_at_ms) VALUES ('k', 'ann', 'h', 'h', 1)`
    expect(() => sqlite.exec(add)).toThrow(/being erased/)
    sqlite.exec(`UPDATE erasures SET state = 'done'`)
    expect(() => sqlite.exec(add)).not.toThrow()
  })
})

describe('the record of a person who was erased', () => {
  it('keeps what happened and when, and who others are; not who they were, nor a text', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const log = createDeploymentLog(database)
    const event = (seq: number, type: string, data: object) =>
      storedEvent({ seq, run: 'run_1', agent: 'a', trace: 't', atMs: 5, type, data })
    await createAuditSink(database).append(
      { session: 's', principal: 'ann', sinceMs: 1 },
      batchOf([
        event(1, 'tool_finished', { call: 'c1', tool: 'kv__set', ok: true, durationMs: 3 }),
        event(2, 'tool_log', { call: 'c1', message: 'My secret word', detail: 'word' }),
        event(3, 'network_requested', { host: 'ann.example', method: 'GET', status: 200 }),
      ]),
    )
    await createAuditSink(database).append(
      { session: 'o', principal: 'bob', sinceMs: 1 },
      batchOf([event(1, 'tool_log', { call: 'c2', message: 'of "ann" and anna' })]),
    )
    const told = (data: object) =>
      log.append(
        deploymentEventOf({ type: 'key_added', principal: 'bob', trace: '', atMs: 1, data }),
      )
    await told({ key: 'key_1', owner: 'ann', expiresAtMs: null, role: 'user' })
    await told({ key: 'key_2', owner: 'anna', expiresAtMs: null, role: 'user' })
    await told({ schedule: 'sch_1', owner: 'principal:ann', name: 'Water the cactus' })
    for (const place of createRecordPlaces(database)) {
      let after: number | undefined = 0
      while (after !== undefined) after = (await place.erase(person, after)).next
    }
    const rows = sqlite
      .prepare('SELECT principal, type, at_ms, data FROM audit_events ORDER BY id')
      .all()
    const text = JSON.stringify(rows)
    expect(text).not.toMatch(/secret word|ann\.example|cactus|[\\]"ann[\\]"|principal:ann"/)
    expect(rows.map(({ principal, type }) => `${principal} ${type}`)).toEqual([
      'erased_1 tool_finished',
      'erased_1 tool_log',
      'erased_1 network_requested',
      'bob tool_log',
      'bob key_added',
      'bob key_added',
      'bob key_added',
    ])
    expect(JSON.parse(String(rows[0]!['data']))).toEqual({
      call: 'c1',
      tool: 'kv__set',
      ok: true,
      durationMs: 3,
    })
    expect(JSON.parse(String(rows[4]!['data']))).toMatchObject({ owner: 'erased_1', role: 'user' })
    expect(JSON.parse(String(rows[5]!['data']))).toMatchObject({ owner: 'anna' })
    // A row says that it was changed, and by which erasure: nothing by which its texts could be guessed.
    const changed = sqlite.prepare('SELECT erased FROM audit_runs ORDER BY id').all()
    expect(changed.map(({ erased }) => erased)).toEqual(['erased_1', null])
  })

  it('I21: whose name is a word of ours too, or an id, leaves what others did as it is, and nothing is found twice', async () => {
    const { database, sqlite } = createSqliteDatabase()
    const log = createDeploymentLog(database)
    const event = (seq: number, type: string, data: object) =>
      storedEvent({ seq, run: 'run_1', agent: 'tool', trace: 't', atMs: 5, type, data })
    const used = { call: 'c1', tool: 'tool', plugin: 'tool', taint: ['tool'] }
    const compacted = { reason: 'tool', by: 'tool' }
    const decided = { principal: 'tool', role: 'operator', via: 'inbox' }
    await createAuditSink(database).append(
      { session: 's', principal: 'bob', sinceMs: 1 },
      batchOf([
        event(1, 'tool_finished', used),
        event(2, 'context_compacted', compacted),
        event(3, 'pause_answered', { ...used, by: 'tool', decidedBy: decided }),
      ]),
    )
    await createAuditSink(database).append(
      { session: 'o', principal: 'bob', sinceMs: 1 },
      batchOf([event(1, 'tool_finished', used)]),
    )
    const lines = ['principal tool: allow tool', 'tool', 'agent tool: deny tool']
    await log.append(
      deploymentEventOf({
        type: 'policy_changed',
        principal: 'bob',
        trace: '',
        atMs: 1,
        data: { added: lines, removed: [] },
      }),
    )
    const needs = (name: string) => ({ agent: 'tool', needs: [`share ${name}: run`, 'tool tool'] })
    await log.append(
      deploymentEventOf({
        type: 'agent_added',
        principal: 'bob',
        trace: '',
        atMs: 1,
        data: needs('tool'),
      }),
    )
    const named = { principal: 'tool', pseudonym: 'erased_1' }
    const once = async () => {
      let sum = 0
      for (const place of createRecordPlaces(database)) {
        let after: number | undefined = 0
        while (after !== undefined) {
          const step = await place.erase(named, after)
          sum += step.erased
          after = step.next
        }
      }
      return sum
    }
    expect(await once()).toBe(3)
    expect(await once()).toBe(0)
    const rows = sqlite.prepare('SELECT type, data FROM audit_events ORDER BY id').all()
    expect(rows.map(({ data }) => JSON.parse(String(data)) as object)).toEqual([
      used,
      compacted,
      { ...used, by: 'erased_1', decidedBy: { ...decided, principal: 'erased_1' } },
      used,
      { added: ['principal erased_1: allow tool', 'tool', 'agent tool: deny tool'], removed: [] },
      needs('erased_1'),
    ])
  })

  it('a text of an unlisted field goes: only listed fields are kept', () => {
    expect(
      withoutTexts({ novel: 'a word', tool: 'kv__set', count: 3, deep: { any: 'x' } }),
    ).toEqual({ novel: '[erased]', tool: 'kv__set', count: 3, deep: {} })
    // Also in a field that is listed, where it is no id, name or code.
    expect(withoutTexts({ reason: 'since Ann said so' })).toEqual({ reason: '[erased]' })
  })

  it('keeps no text of an event that people write', () => {
    const written = ['message', 'detail', 'file', 'address', 'who', 'why', 'host', 'name']
    const kinds = { ...eventSchemas, ...deploymentEventSchemas }
    const fields = new Set(
      Object.values(kinds).flatMap((kind) => {
        const schema = 'data' in kind ? kind.data : kind
        return Object.keys((schema as z.ZodObject).shape)
      }),
    )
    expect(written.filter((field) => !fields.has(field))).toEqual([])
    for (const field of written)
      expect(withoutTexts({ [field]: 'word' })).toEqual({ [field]: '[erased]' })
  })
})
