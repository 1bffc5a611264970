import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'

const maxDepth = 64
const maxValues = 100_000
const maxPathChars = 200

interface Place {
  readonly value: object
  readonly depth: number
  readonly parent: Place | undefined
  readonly key: string | number
}

/**
 * Refuses JSON that is legal but hostile: too deep, too many values, keys that mean something to JavaScript. Walks with
 * its own stack, since the depth is the attack.
 */
export function checkShape(root: object): void {
  const open: Place[] = [{ value: root, depth: 1, parent: undefined, key: '' }]
  let values = 0
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const inner = contentsOf(place.value)
    values += inner.size
    if (values > maxValues) throw invalid(place, '', `more than ${maxValues} values in one body`)
    for (const [key, value] of inner.entries) {
      if (key === '__proto__') throw invalid(place, key, 'a key may not be named __proto__')
      if (typeof value !== 'object' || value === null) continue
      if (place.depth >= maxDepth) {
        throw invalid(place, key, `nested deeper than ${maxDepth} levels`)
      }
      open.push({ value, depth: place.depth + 1, parent: place, key })
    }
  }
}

function contentsOf(value: object): {
  readonly size: number
  readonly entries: Iterable<readonly [string | number, unknown]>
} {
  if (Array.isArray(value)) return { size: value.length, entries: value.entries() }
  const entries = Object.entries(value)
  return { size: entries.length, entries }
}

/** A path as OpenAI writes it: `messages[0].role`. Cut, since its keys are the caller's. */
export function toParam(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    text += typeof key === 'number' ? `[${key}]` : `${text === '' ? '' : '.'}${String(key)}`
    if (text.length > maxPathChars) return `${headOf(text, maxPathChars)}…`
  }
  return text
}

function invalid(place: Place, key: string | number, message: string): IsolaError {
  const path: (string | number)[] = key === '' ? [] : [key]
  for (let at: Place | undefined = place; at?.parent; at = at.parent) path.unshift(at.key)
  return invalidField(toParam(path), message, `body: ${message}`)
}

/** `request_invalid` about one field of a request; `whole` is the message where no field is at fault. */
export const invalidField = (param: string, why: string, whole = ''): IsolaError =>
  new IsolaError('request_invalid', param === '' ? whole : `${param}: ${why}`, {
    ...(param !== '' && { param }),
  })
