// D1 databases and KV namespaces: found by name, else made. Wrangler would make them on deploy, but looks for no KV
// namespace that a broken deploy left behind: the next one would stop at "already exists".

import type { Wrangler } from './wrangler.ts'

/** As wrangler lists them. */
interface Row {
  readonly name?: string
  readonly uuid?: string
  readonly title?: string
  readonly id?: string
}
interface Kind {
  readonly list: readonly string[]
  readonly create: (name: string) => readonly string[]
  readonly idOf: (rows: readonly Row[], name: string) => string | undefined
}

const kinds: Readonly<Record<'database' | 'namespace', Kind>> = {
  database: {
    list: ['d1', 'list', '--json'],
    create: (name) => ['d1', 'create', name],
    idOf: (rows, name) => rows.find((row) => row.name === name)?.uuid,
  },
  namespace: {
    list: ['kv', 'namespace', 'list'],
    create: (name) => ['kv', 'namespace', 'create', name],
    idOf: (rows, name) => rows.find((row) => row.title === name)?.id,
  },
}

/** @returns The id of the resource with exactly this name, and whether it was made now. */
export async function ensureResource(
  wrangler: Wrangler,
  kind: keyof typeof kinds,
  { name, configPath }: { readonly name: string; readonly configPath: string },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { list, create, idOf } = kinds[kind]
  const config = ['--config', configPath]
  const find = async () => idOf(await wrangler.json([...list, ...config]), name)
  const there = await find()
  if (there) return { id: there, isNew: false }
  await wrangler.run([...create(name), ...config])
  const made = await find()
  if (!made) throw new Error(`The ${kind} ${name} was made, but is not in the list yet.`)
  return { id: made, isNew: true }
}
