import { Validator } from '@cfworker/json-schema'
import type { Json, JsonSchema } from '#contracts/json.ts'
import type { SchemaValidator, SchemaVerdict } from '#contracts/tool.ts'
import { problemOf } from './schema/problem-text.ts'
import { SchemaProblem, toSafeSchema, type SafeSchema } from './schema/safe-schema.ts'

/** What one validation may cost. A visit to a schema node costs 50, its lists and the text it reads come on top. */
const maxCost = 10_000_000
const visitCost = 50
const maxValueDepth = 200

class TooMuchWork extends Error {}

/** A schema made ready: checked values use it, or the reason why it cannot be used. */
type Compiled =
  | { readonly ok: true; readonly validator: Validator; readonly safe: SafeSchema }
  | { readonly ok: false; readonly reason: string }

interface Measures {
  readonly size: number
  readonly longestText: number
  readonly longestList: number
}

/**
 * Validates against JSON Schema (draft 2020-12, tolerating draft-07) without ever hanging: work is counted and
 * capped, `pattern` is not evaluated, `$ref` stays inside the schema. Never throws.
 *
 * What cannot be checked is refused (fail closed), with `path` empty and the reason in `message`. Compiled schemas
 * are cached by the schema object's identity, so keep and reuse it; the cache belongs to this validator.
 */
export function createSchemaValidator(): SchemaValidator {
  const cache = new WeakMap<JsonSchema, Compiled>()
  // One validation at a time, synchronously: the counter is reset before each.
  let left = 0
  let longestText = 0

  function spend(size: number, readsText: boolean): void {
    left -= visitCost + size + (readsText ? longestText : 0)
    if (left < 0) throw new TooMuchWork()
  }

  function compile(schema: JsonSchema): Compiled {
    try {
      const safe = toSafeSchema(schema, spend)
      left = maxCost
      // The library's type for a schema is a mutable one with known keywords; the copy has only those.
      return { ok: true, safe, validator: new Validator(safe.root, '2020-12') }
    } catch (error) {
      return {
        ok: false,
        reason: error instanceof SchemaProblem ? error.message : 'is not a valid JSON Schema',
      }
    }
  }

  function compiled(schema: JsonSchema): Compiled {
    const known = cache.get(schema)
    if (known) return known
    const made = compile(schema)
    cache.set(schema, made)
    return made
  }

  function check({ validator, safe }: Extract<Compiled, { ok: true }>, value: Json): SchemaVerdict {
    const measures = measure(value)
    if (!measures) return refused(`the value is nested deeper than ${maxValueDepth} levels`)
    // The library compares every item with every other one.
    if (safe.comparesItems && measures.longestList * measures.size > maxCost)
      throw new TooMuchWork()
    left = maxCost
    longestText = measures.longestText
    const { valid, errors } = validator.validate(value)
    return valid ? { ok: true } : { ok: false, ...problemOf(errors, safe.root) }
  }

  return {
    validate(schema, value) {
      const ready = compiled(schema)
      if (!ready.ok) return refused(`the schema ${ready.reason}`)
      try {
        return check(ready, value)
      } catch (error) {
        return refused(
          error instanceof TooMuchWork ? 'checking takes too much work' : 'the schema is broken',
        )
      }
    },
  }
}

const refused = (reason: string): SchemaVerdict => ({
  ok: false,
  path: '',
  message: `cannot be checked: ${reason}`,
})

/** Sizes of a value; `undefined` if it is too deep. */
function measure(value: Json): Measures | undefined {
  let size = 0
  let longestText = 0
  let longestList = 0
  function visit(part: Json, depth: number): boolean {
    size += 1
    if (depth > maxValueDepth) return false
    if (typeof part === 'string') longestText = Math.max(longestText, part.length)
    if (typeof part !== 'object' || part === null) return true
    const children: readonly Json[] = Array.isArray(part) ? part : Object.values(part)
    if (Array.isArray(part)) longestList = Math.max(longestList, part.length)
    return children.every((child) => visit(child, depth + 1))
  }
  return visit(value, 0) ? { size, longestText, longestList } : undefined
}
