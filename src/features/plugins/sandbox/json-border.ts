import type { Json } from '#contracts/json.ts'

const maxDepth = 100

/** A value that may not cross the border between plugin and host. `path` is the place in the value. */
export class NotJsonError extends Error {
  constructor(path: string, what: string) {
    super(`${path === '' ? 'the value' : `"${path}"`} is ${what}`)
    this.name = 'NotJsonError'
  }
}

/**
 * Copies a value as JSON, exactly as an isolate would pass it.
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

/** The name of a class of the platform, such as Date. Other names are only a minifier's. */
function platformName(constructor: unknown): string | undefined {
  const { name }: { readonly name?: unknown } = Object(constructor)
  return typeof name === 'string' && Reflect.get(globalThis, name) === constructor
    ? name
    : undefined
}
