import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import { call, callJson } from './client.ts'
import { stubOf } from './objects.ts'
import { vi } from 'vitest'

/** Every row of a database, whatever its tables are. */
async function rowsOf(query: (sql: string) => Promise<readonly Record<string, unknown>[]>) {
  const tables = await query("SELECT name FROM sqlite_master WHERE type = 'table'")
  const own = tables.map(({ name }) => String(name)).filter((name) => !/^(_cf_|sqlite_)/.test(name))
  const rows: unknown[] = []
  for (const name of own) rows.push(name, await query(`SELECT * FROM "${name}"`))
  return JSON.stringify(rows)
}

const textOf = async (path: string): Promise<string> => (await call(path)).text()

/** All views of a session that any principal may read, and the files on disk: the places where no secret may be. */
export async function sinksOf(session: string): Promise<Readonly<Record<string, string>>> {
  const at = `/api/sessions/${session}`
  const audit = await vi.waitFor(
    async () => {
      const text = await textOf(`/api/operator/audit?session=${session}&limit=500`)
      if (!text.includes('run_finished')) throw new Error('not audited yet')
      return text
    },
    { timeout: 60_000, interval: 50 },
  )
  const keys = (await env.KV.list()).keys.map(({ name }) => name)
  const kv = await Promise.all(keys.map(async (key) => [key, await env.KV.get(key)]))
  const operator = ['secrets', 'health', 'metrics', 'plugins', 'audit?session=deployment&limit=500']
  return {
    audit,
    session: JSON.stringify(await callJson(at)),
    events: await textOf(`${at}/events`),
    transcript: await textOf(`${at}/transcript`),
    runs: await textOf(`${at}/runs`),
    operator: (await Promise.all(operator.map((page) => textOf(`/api/operator/${page}`)))).join(),
    database: await rowsOf(async (sql) => (await env.DB.prepare(sql).all()).results),
    object: await runInDurableObject(stubOf(session), async (_instance, state) =>
      rowsOf(async (sql) => [...state.storage.sql.exec(sql)]),
    ),
    kv: JSON.stringify(kv),
  }
}
