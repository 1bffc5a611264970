import * as z from 'zod'
import { deafness, eventPattern, eventPatternProblem, maxTtlMs } from '../event-bus.ts'
import type { JsonSchema } from '../json.ts'

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
