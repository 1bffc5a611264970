import * as z from 'zod'
import type { JsonSchema } from './json.ts'

/** How a run came about that an event began: it goes along with all that the run emits, also from below. */
export interface EventChain {
  /** Id of the event that began the run. */
  readonly cause: string
  /** How many runs events have begun one after the other, this one included. */
  readonly depth: number
  /** Ids of the subscriptions on the way. */
  readonly via: readonly string[]
  /** The least of what those on the way allow. */
  readonly maxDepth: number
  /** Epoch milliseconds: from then on nothing of the chain begins a run. */
  readonly expiresAtMs: number
}

/** The fields of an agent's payload that say which call of which agent it is about. */
const ofAgent = ['call', 'agent', 'session', 'background'] as const

/** Our own events that a subscription may name as `isola.<kind>`, with the fields of the payload of each. */
export const ownEvents = {
  run_finished: ['state', 'turns', 'code'],
  run_parked: ['pauses'],
  budget_reached: ['code', 'limit', 'allowed', 'spent', 'needed'],
  loop_suspected: ['calls', 'rounds'],
  agent_invoked: ofAgent,
  agent_result: [...ofAgent, 'state'],
  agent_error: [...ofAgent, 'code'],
  floor_taken: ['floor', 'holder'],
  floor_ended: ['floor', 'holder', 'reason', 'messages', 'tokens'],
  schedule_missed: ['schedule', 'name', 'count', 'fromMs', 'toMs', 'reason'],
} as const satisfies Readonly<Record<string, readonly string[]>>
/** They hold lists, which equal no word and no number. */
const uncompared: readonly string[] = ['pauses', 'calls']

export const maxTtlMs = 7 * 86_400_000

/** An event's whole name, or all of one emitter's: `billing.paid`, `billing.*`. */
export const eventPattern = /^[a-z][a-z0-9-]{0,23}\.(?:\*|[a-z][a-z0-9_]{0,47})$/
export const eventPatternProblem =
  'must be the name of an event, or of all of a plugin: billing.paid, billing.*'

/**
 * Why a subscription can never receive an event, with the field; only for our own events, since plugins come and go.
 */
export function deafness({
  event,
  where = {},
}: {
  readonly event: string
  readonly where?: Readonly<Record<string, unknown>> | undefined
}): { readonly path: string[]; readonly message: string } | undefined {
  const [from, kind = ''] = event.split('.')
  if (from !== 'isola') return undefined
  const known: Readonly<Record<string, readonly string[]>> = ownEvents
  const kinds = Object.keys(known)
  if (kind !== '*' && !kinds.includes(kind)) {
    const message = `is no event that there is: isola.* is ${kinds.join(', ')}`
    return { path: ['event'], message }
  }
  const all = kind === '*' ? Object.values(known).flat() : (known[kind] ?? [])
  const fields = [...new Set(all)].filter((field) => !uncompared.includes(field))
  const other = Object.keys(where).find((field) => !fields.includes(field))
  if (other === undefined) return undefined
  const there = fields.length > 0 ? `only ${fields.join(', ')}` : 'none'
  return {
    path: ['where', other],
    message: `is no field of ${event} that can be compared: there is ${there}`,
  }
}

const schema = z.custom<JsonSchema>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON Schema object',
)

/** An event that a plugin may emit: `<plugin>.<name>`, for subscriptions. */
const eventManifest = z.lazy(() =>
  z.strictObject({
    name: z
      .string()
      .max(48)
      .regex(
        /^[a-z][a-z0-9_]*$/,
        'must be lowercase letters, digits and underscores, starting with a letter',
      ),
    description: z.string().min(1).max(500).optional(),
    /** The schema of the payload, an object; any object if absent. */
    schema: schema.default({ type: 'object' }),
    /** Every principal may subscribe to it, also to events of other principals' sessions. */
    public: z.boolean().optional(),
  }),
)

/** At most 32 events a plugin. */
export const eventManifests = z
  .array(eventManifest)
  .max(32)
  .default([])
  .superRefine((events, context) => {
    for (const [index, { name }] of events.entries())
      if (events.findIndex((other) => other.name === name) < index)
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `is declared twice: ${name}`,
        })
  })

/** The tool of a plugin through which a model emits its events: `<plugin>__emit`. */
export const emitTool = 'emit'

/** Refuses a subscription that can never receive an event. */
export function refuseDeaf(
  subscription: Parameters<typeof deafness>[0],
  context: z.RefinementCtx,
): void {
  const found = deafness(subscription)
  if (found) context.addIssue({ code: 'custom', ...found })
}

/** The fields of a subscription, in a manifest's spelling. */
export const subscriptionManifest = z.lazy(() =>
  z
    .strictObject({
      event: z.string().regex(eventPattern, eventPatternProblem),
      where: z
        .record(z.string().min(1).max(64), z.union([z.string().max(200), z.number(), z.boolean()]))
        .optional(),
      task: z.string().min(1).max(20_000),
      max_depth: z.int().min(1).max(16).optional(),
      ttl_minutes: z
        .int()
        .min(1)
        .max(maxTtlMs / 60_000)
        .optional(),
      runs_a_day: z.int().min(1).max(1_440).optional(),
    })
    .superRefine(refuseDeaf),
)

/** At most 16 subscriptions an agent. */
export const subscriptionManifests = z.array(subscriptionManifest).max(16).optional()
