// Runs in each isolate before the product is loaded: puts a distance in front of every binding and records each call.
// The product's modules read `env` once, when they are loaded, so the entry module imports this file first.
import { env } from 'cloudflare:workers'
import type { CallRecord, Distances } from './record.ts'

type Method = (...given: unknown[]) => unknown
const bindings = env as unknown as Record<string, unknown>

const place = String(bindings['PLACE'] ?? 'worker')
const distances = JSON.parse(String(bindings['DISTANCES'] ?? '{"far":0}')) as Distances
const modelUrl = String(bindings['OPENAI_BASE_URL'])

const calls: CallRecord[] = []
let order = 0
const clock = Date.now.bind(Date)
let laterMs = 0
Date.now = () => clock() + laterMs

export const recorded = (): readonly CallRecord[] => calls
/** For all times to come, the isolate's clock is later by so much: caches age as if nothing had asked for so long. */
export function later(ms: number): void {
  laterMs += ms
}

const pause = (ms: number): Promise<void> | undefined =>
  ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : undefined

interface Call {
  readonly binding: string
  readonly name: string
  readonly to?: string
}

async function far<T>({ binding, name, to }: Call, call: () => T): Promise<Awaited<T>> {
  const distanceMs = distances[binding] ?? distances.far
  const record: CallRecord = {
    place,
    name,
    ...(to !== undefined && { to }),
    distanceMs,
    startMs: clock(),
    startOrder: (order += 1),
  }
  calls.push(record)
  try {
    await pause(distanceMs / 2)
    record.thereMs = clock()
    try {
      return await call()
    } catch (error) {
      record.failed = true
      throw error
    } finally {
      record.backMs = clock()
      await pause(distanceMs / 2)
    }
  } finally {
    record.endMs = clock()
    record.endOrder = order += 1
  }
}

/**
 * The same object, with other functions in the place of those that `replace` knows; the rest is called on the object.
 */
function around<T extends object>(
  target: T,
  replace: (name: string, method: Method) => Method | undefined,
): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object)
      if (typeof value !== 'function') return value
      const method: Method = (...given) => Reflect.apply(value, object, given)
      return (typeof name === 'string' && replace(name, method)) || method
    },
  })
}

const classOf = (binding: string): string =>
  binding.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Every method of a stub is a call of the object. */
const stubOf = (binding: string, stub: object): object =>
  around(stub, (name, method) => {
    const to = classOf(binding)
    return (...given) => far({ binding, name: `${to}.${name}`, to }, () => method(...given))
  })

const namespaceOf = (binding: string, namespace: object): object =>
  around(namespace, (name, method) =>
    name === 'get' || name === 'getByName'
      ? (...given) => stubOf(binding, method(...given) as object)
      : undefined,
  )

const kvOf = (binding: string, kv: object): object =>
  around(
    kv,
    (name, method) =>
      (...given) =>
        far({ binding, name: `${binding}.${name}` }, () => method(...given)),
  )

const plainStatement = Symbol('statement')
const words = Symbol('words')
/** A statement as the record names it: its verb and its first table. */
function wordsOf(query: string): string {
  const text = query.trim().replace(/\s+/g, ' ')
  const verb = /^\w+/.exec(text)?.[0].toLowerCase() ?? ''
  const table = /\b(?:from|into|update|table)\s+(?:or\s+\w+\s+)?(\w+)/i.exec(text)?.[1]
  return table ? `${verb} ${table}` : text.slice(0, 40)
}

interface WrappedStatement {
  readonly [plainStatement]: unknown
  readonly [words]: string
}

function statementOf(statement: object, query: string): object {
  const wrapped = around(statement, (name, method) => {
    if (name === 'bind') return (...given) => statementOf(method(...given) as object, query)
    return (...given) => far({ binding: 'DB', name: `D1 ${query}` }, () => method(...given))
  })
  return new Proxy(wrapped, {
    get: (object, name) =>
      name === plainStatement ? statement : name === words ? query : Reflect.get(object, name),
  })
}

const databaseOf = (database: object): object =>
  around(database, (name, method) => {
    if (name === 'prepare')
      return (query) => statementOf(method(query) as object, wordsOf(String(query)))
    if (name === 'withSession') return (...given) => databaseOf(method(...given) as object)
    if (name === 'batch')
      return (given) => {
        const statements = given as WrappedStatement[]
        const parts = [...new Set(statements.map((statement) => statement[words]))].join(', ')
        const plain = statements.map((statement) => statement[plainStatement])
        return far({ binding: 'DB', name: `D1 batch ${parts}` }, () => method(plain))
      }
    // A bookmark is read where it is.
    if (name === 'getBookmark') return undefined
    return (...given) => far({ binding: 'DB', name: `D1 ${name}` }, () => method(...given))
  })

const limitOf = (binding: string): object => ({
  limit: () => far({ binding, name: binding }, async () => ({ success: true })),
})

for (const [name, value] of Object.entries(bindings)) {
  if (typeof value !== 'object' || value === null) continue
  if (name === 'DB') bindings[name] = databaseOf(value)
  else if (name.endsWith('KV')) bindings[name] = kvOf(name, value)
  else if ('getByName' in value) bindings[name] = namespaceOf(name, value)
}
for (const name of ['STRANGER_LIMIT', 'REQUEST_LIMIT', 'SESSION_LIMIT'])
  bindings[name] = limitOf(name)

const send = globalThis.fetch
/** The model is as far as nothing: every millisecond before it is asked is the runtime's own. */
globalThis.fetch = (...given) => {
  const [input] = given
  const url = input instanceof Request ? input.url : String(input)
  if (!url.startsWith(modelUrl)) return send(...given)
  return far({ binding: 'MODEL', name: 'model' }, () => send(...given))
}
