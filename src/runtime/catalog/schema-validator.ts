import type { Json, JsonSchema } from '#contracts/json.ts'
import type { SchemaValidator, SchemaVerdict } from '#contracts/tool.ts'
import { evaluate } from './schema/evaluate.ts'
import { problemOf } from './schema/problem-text.ts'
import { SchemaProblem, toSafeSchema, type SafeSchema } from './schema/safe-schema.ts'
import { createWork, TooMuchWork } from './schema/work.ts'

const maxValueDepth = 200

/** A schema made ready: checked values use it, or the reason why it cannot be used. */
type Compiled =
  | { readonly ok: true; readonly safe: SafeSchema }
  | { readonly ok: false; readonly reason: string }

/**
 * Validates against JSON Schema (draft 2020-12, tolerating draft-07) without ever hanging: work is counted and
 * capped, `pattern` is not evaluated, `$ref` stays inside the schema. Never throws.
 *
 * What cannot be checked is refused (fail closed), with `path` empty and the reason in `message`. Compiled schemas
 * are cached by the schema object's identity, so keep and reuse it; the cache belongs to this validator.
 */
export function createSchemaValidator(): SchemaValidator {
  const cache = new WeakMap<JsonSchema, Compiled>()
  function compiled(schema: JsonSchema): Compiled {
    const known = cache.get(schema)
    if (known) return known
    const made = compile(schema)
    cache.set(schema, made)
    return made
  }

  return {
    validate(schema, value) {
      const ready = compiled(schema)
      if (!ready.ok) return refused(`the schema ${ready.reason}`)
      try {
        return check(ready.safe, value)
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

function compile(schema: JsonSchema): Compiled {
  try {
    return { ok: true, safe: toSafeSchema(schema) }
  } catch (error) {
    return {
      ok: false,
      reason: error instanceof SchemaProblem ? error.message : 'is not a valid JSON Schema',
    }
  }
}

function check(safe: SafeSchema, value: Json): SchemaVerdict {
  if (isTooDeep(value)) return refused(`the value is nested deeper than ${maxValueDepth} levels`)
  const found = evaluate(safe, value, createWork())
  return found ? { ok: false, ...problemOf(found, safe.root) } : { ok: true }
}

function isTooDeep(value: Json, depth = 0): boolean {
  if (depth > maxValueDepth) return true
  if (typeof value !== 'object' || value === null) return false
  const parts: readonly Json[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => isTooDeep(part, depth + 1))
}
