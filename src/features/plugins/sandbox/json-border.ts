import type { Json } from '#contracts/json.ts'

const maxDepth = 100

/** Why a value may not cross the border between plugin and host. `path` is where in it. */
export class NotJsonError extends Error {
  constructor(path: string, what: string) {
    super(`${path === '' ? 'the value' : `"${path}"`} is ${what}`)
    this.name = 'NotJsonError'
  }
}

/**
 * Copies a value as JSON: what an isolate would let through, and nothing else.
 *
 * `undefined` becomes `null` at the top and is left out of objects, as in JSON.stringify. Functions, class
 * instances, cycles, bigint and non-finite numbers are refused.
 * @throws NotJsonError
 */
export function toJson(value: unknown): Json {
  return value === undefined ? null : copy(value, '', [])
}

/** Size in bytes of a value as JSON. */
export function jsonSizeBytes(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

function copy(value: unknown, path: string, above: readonly object[]): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new NotJsonError(path, `${value}, which is not a JSON number`)
  }
  if (typeof value !== 'object') throw new NotJsonError(path, `of type ${typeof value}`)
  if (above.includes(value)) throw new NotJsonError(path, 'part of itself')
  if (above.length >= maxDepth)
    throw new NotJsonError(path.slice(0, 80), `nested deeper than ${maxDepth} levels`)
  const inside = [...above, value]
  if (Array.isArray(value))
    return Array.from(value, (item: unknown, index) => copy(item, `${path}[${index}]`, inside))
  refuseInstance(value, path)
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  // fromEntries defines own properties: a "__proto__" key cannot change the copy's prototype.
  return Object.fromEntries(
    entries.map(([key, member]) => [
      key,
      copy(member, path === '' ? key : `${path}.${key}`, inside),
    ]),
  )
}

function refuseInstance(value: object, path: string): void {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return
  throw new NotJsonError(path, `a ${platformName(value.constructor) ?? 'class'} instance`)
}

/** The name of what the platform has, such as Date. Other names are the minifier's. */
function platformName(constructor: unknown): string | undefined {
  const { name }: { readonly name?: unknown } = Object(constructor)
  return typeof name === 'string' && Reflect.get(globalThis, name) === constructor
    ? name
    : undefined
}
