import * as z from 'zod'
import type { Json } from '#contracts/json.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import { isFields } from '#contracts/foreign-json.ts'

const text = z.string()
/** Storage checks the value itself, and cheaper, since it comes from JSON.parse. */
const anything = z.custom<Json>((value) => value !== undefined, 'is missing')
const count = z.number().optional()
const limit = z.strictObject({ limit: count })
const prompt = z.strictObject({
  system: text.optional(),
  prompt: text,
  model: text.optional(),
  maxOutputTokens: count,
  temperature: count,
})
const progress = z.object({ progress: z.number(), total: count })
/** Checked in full where the questions are asked. */
const asks = z.custom(isFields, 'must be an object')

const storageVerbs = (space: 'storage' | 'workspace') => ({
  [`${space}.get`]: z.tuple([text]),
  [`${space}.set`]: z.tuple([text, anything]),
  [`${space}.delete`]: z.tuple([text]),
  [`${space}.list`]: z.tuple([z.strictObject({ prefix: text.optional(), limit: count })]),
})

/** Every function a plugin may call besides `fetch`, with the form of its arguments. Any other verb is refused. */
const verbs: ReadonlyMap<string, z.ZodType<readonly unknown[]>> = new Map(
  Object.entries({
    ...storageVerbs('storage'),
    ...storageVerbs('workspace'),
    'memory.append': z.tuple([text]),
    'memory.read': z.tuple([limit]),
    'memory.search': z.tuple([text, limit]),
    'memory.clear': z.tuple([]),
    // Checked in full by the memory capability.
    'memory.remember': z.tuple([z.any()]),
    'memory.recall': z.tuple([z.any().transform((query: unknown) => query ?? undefined), z.any()]),
    'memory.forget': z.tuple([z.array(text)]),
    'secrets.hmac': z.tuple([text, text]),
    'secrets.verify': z.tuple([text, text, text]),
    'secrets.sign': z.tuple([text, text]),
    'secrets.verifyRequest': z.tuple([
      text,
      z.strictObject({ headers: z.record(text, text), body: text }),
    ]),
    'tools.call': z.tuple([text, z.record(text, anything)]),
    'model.generate': z.tuple([prompt]),
    'database.query': z.tuple([text, z.array(z.union([text, z.number(), z.null()]))]),
    'isolate.run': z.tuple([text, z.strictObject({ timeoutMs: count })]),
    'request.all': z.tuple([asks]),
    log: z.tuple([text, text.optional()]),
    emit: z.tuple([text, z.record(text, anything)]),
    progress: z.tuple([text, progress.optional()]),
  }),
)

/**
 * Finds the function of this name in the call's capabilities; it takes a list of arguments from JSON, and checks
 * their form before it runs. `undefined` for any other name.
 */
export function verbOf(name: string, capabilities: Capabilities) {
  const form = verbs.get(name)
  if (!form) return undefined
  const [part = '', member] = name.split('.')
  return (given: unknown): unknown => {
    const values = form.parse(given)
    const owner = member === undefined ? capabilities : (Reflect.get(capabilities, part) as object)
    return Reflect.apply(Reflect.get(owner, member ?? part) as () => unknown, owner, values)
  }
}

/** A plugin's `fetch` request. */
export const request = z.strictObject({
  url: text,
  method: text.optional(),
  headers: z.record(text, text).optional(),
  body: text.optional(),
})
