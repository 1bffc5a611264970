/**
 * The files of `workers` share one Worker and its modules, since loading them takes longer than most files. Nothing else
 * is shared: stored rows are deleted, objects are aborted, and the program is composed anew, so that its memory holds
 * nothing of the file before.
 */
import {
  abortAllDurableObjects,
  applyD1Migrations,
  reset,
  runInDurableObject,
  type D1Migration,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { sha256 } from '../fakes/kernel.ts'

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[]
    }
  }
}

interface ModuleNode {
  promise: unknown
  exports: unknown
  evaluated: boolean
}

/** The Worker, and the way from it to the plugins it is made of, which a file may put others in the place of. */
const composed = ['/src/index.ts', '/src/compose/composition.ts', '/src/bundled.gen.ts']

/** What `vi.resetModules` does, of these modules: the others keep nothing. */
function evaluateAnew(paths: readonly string[]): void {
  const { evaluatedModules } = Reflect.get(globalThis, '__vitest_worker__') as {
    readonly evaluatedModules: { readonly idToModuleMap: ReadonlyMap<string, ModuleNode> }
  }
  for (const [id, node] of evaluatedModules.idToModuleMap) {
    if (!paths.some((path) => id.endsWith(path))) continue
    node.promise = undefined
    node.exports = undefined
    node.evaluated = false
  }
}

vi.restoreAllMocks()
vi.unstubAllGlobals()
vi.useRealTimers()
await reset()
// On a busy machine objects that all files share by their names were seen to outlive that: the operator's with its
// incidents, the deployment's memory with its documents and the keys of them.
const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
for (const shared of ['9:principal8:operator', '6:memory10:deployment'])
  await runInDurableObject(principals.getByName(sha256(shared)), (_instance, { storage }) =>
    storage.deleteAll(),
  )
await abortAllDurableObjects()
// `reset` deletes objects; a database may outlive it.
const left = await env.DB.prepare(
  `SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table')
   AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY type DESC`,
).all<{ type: string; name: string }>()
// In one go: rows that refer to each other are gone together.
await env.DB.batch([
  env.DB.prepare('PRAGMA defer_foreign_keys = true'),
  ...left.results.map(({ type, name }) => env.DB.prepare(`DROP ${type} "${name}"`)),
])
// What the last file's Worker noted of the database that is gone.
for (const { name } of (await env.KV.list()).keys) await env.KV.delete(name)
evaluateAnew(composed)
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
