import * as z from 'zod'
import type { Json } from '#contracts/json.ts'
import type { Ask, Capabilities, LogLevel } from '#features/plugins/types/plugin.ts'

/** One verb of the port: the form of its arguments, and what it does with the call's capabilities. */
interface Verb {
  readonly serve: (capabilities: Capabilities, given: unknown) => unknown
}

function verb<S extends z.ZodType>(
  schema: S,
  serve: (capabilities: Capabilities, given: z.infer<S>) => unknown,
): Verb {
  return { serve: (capabilities, given) => serve(capabilities, schema.parse(given)) }
}

const text = z.string()
/** Storage checks the value itself, and cheaper, since it comes from JSON.parse. */
const anything = z.custom<Json>((value) => value !== undefined, 'is missing')
const count = z.number().optional()
const page = z.strictObject({ prefix: text.optional(), limit: count })
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
const asks = z.custom<Readonly<Record<string, Ask>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)

/** Leaves out `undefined` members, as exactOptionalPropertyTypes requires. */
export const given = <T extends object>(options: T) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

const storageVerbs = (space: 'storage' | 'workspace'): readonly (readonly [string, Verb])[] => [
  [`${space}.get`, verb(z.tuple([text]), (can, [key]) => can[space].get(key))],
  [
    `${space}.set`,
    verb(z.tuple([text, anything]), (can, [key, value]) => can[space].set(key, value)),
  ],
  [`${space}.delete`, verb(z.tuple([text]), (can, [key]) => can[space].delete(key))],
  [`${space}.list`, verb(z.tuple([page]), (can, [options]) => can[space].list(given(options)))],
]

/** Every function a plugin may call besides `fetch`. Any other verb is refused. */
export const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ...storageVerbs('storage'),
  ...storageVerbs('workspace'),
  ['memory.append', verb(z.tuple([text]), (can, [note]) => can.memory.append(note))],
  ['memory.read', verb(z.tuple([limit]), (can, [options]) => can.memory.read(given(options)))],
  [
    'memory.search',
    verb(z.tuple([text, limit]), (can, [query, options]) =>
      can.memory.search(query, given(options)),
    ),
  ],
  ['memory.clear', verb(z.tuple([]), (can) => can.memory.clear())],
  // Checked in full by the memory capability.
  ['memory.remember', verb(z.tuple([z.any()]), (can, [note]) => can.memory.remember(note))],
  [
    'memory.recall',
    verb(z.tuple([z.any(), z.any()]), (can, [query, options]) =>
      can.memory.recall(query ?? undefined, options),
    ),
  ],
  ['memory.forget', verb(z.tuple([z.array(text)]), (can, [ids]) => can.memory.forget(ids))],
  ['secrets.hmac', verb(z.tuple([text, text]), (can, given) => can.secrets.hmac(...given))],
  [
    'secrets.verify',
    verb(z.tuple([text, text, text]), (can, given) => can.secrets.verify(...given)),
  ],
  ['secrets.sign', verb(z.tuple([text, text]), (can, given) => can.secrets.sign(...given))],
  [
    'secrets.verifyRequest',
    verb(
      z.tuple([text, z.strictObject({ headers: z.record(text, text), body: text })]),
      (can, given) => can.secrets.verifyRequest(...given),
    ),
  ],
  [
    'tools.call',
    verb(z.tuple([text, z.record(text, anything)]), (can, [name, input]) =>
      can.tools.call(name, input),
    ),
  ],
  ['model.generate', verb(z.tuple([prompt]), (can, [asked]) => can.model.generate(given(asked)))],
  [
    'database.query',
    verb(z.tuple([text, z.array(z.union([text, z.number(), z.null()]))]), (can, [sql, values]) =>
      can.database.query(sql, values),
    ),
  ],
  [
    'isolate.run',
    verb(z.tuple([text, z.strictObject({ timeoutMs: count })]), (can, [code, options]) =>
      can.isolate.run(code, given(options)),
    ),
  ],
  ['request.all', verb(z.tuple([asks]), (can, [asked]) => can.request.all(asked))],
  [
    'log',
    verb(z.tuple([text, text.optional()]), (can, [message, level]) =>
      can.log(message, level as LogLevel),
    ),
  ],
  ['emit', verb(z.tuple([text, z.record(text, anything)]), (can, given) => can.emit(...given))],
  [
    'progress',
    verb(z.tuple([text, progress.optional()]), (can, [message, at]) =>
      can.progress(message, at && given(at)),
    ),
  ],
])

/** A plugin's `fetch` request. */
export const request = z.strictObject({
  url: text,
  method: text.optional(),
  headers: z.record(text, text).optional(),
  body: text.optional(),
})
