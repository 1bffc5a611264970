import * as z from 'zod'

const secretName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be capital letters, digits and underscores: GITHUB_TOKEN')

/** `grants` of a manifest: what a plugin asks for. What it gets is what the operator was shown (`permit.ts`). */
export const grantsSchema = z.strictObject({
  network: z
    .array(
      z.strictObject({
        host: z.string().min(1),
        methods: z.array(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])).min(1),
      }),
    )
    .default([]),
  /** By reference: the plugin holds a placeholder, the host puts the value in where this says. `hmac` needs no host. */
  secrets: z
    .array(
      z
        .strictObject({
          name: secretName,
          host: z.string().min(1).optional(),
          in: z.enum(['header', 'basic', 'path', 'hmac']),
        })
        .refine((secret) => (secret.in === 'hmac') === (secret.host === undefined), {
          path: ['host'],
          message: 'is required, but for in: hmac, which has none',
        }),
    )
    .default([]),
  storage: z
    .strictObject({
      quota: z.string().regex(/^\d+(kb|mb)$/),
      scope: z.enum(['session', 'principal', 'deployment']),
    })
    .or(
      z
        .string()
        .regex(/^\d+(kb|mb)$/)
        .transform((quota) => ({ quota, scope: 'session' as const })),
    )
    .optional(),
  /** May ask a model: within these limits for each call, and only these models if they are named. */
  model: z
    .strictObject({
      max_tokens: z.int().min(1).max(1_000_000),
      max_cost_usd: z.number().positive().optional(),
      models: z.array(z.string().min(1)).min(1).optional(),
    })
    .optional(),
  /** May ask the person (`elicit`), the client's own model (`sample`), and where the client works (`roots`). */
  request: z
    .array(z.enum(['elicit', 'sample', 'roots']))
    .max(3)
    .optional(),
  // For plugins that ship with the deployment only.
  workspace: z.boolean().default(false),
  memory: z.boolean().default(false),
  /** Read and write, or read only, in the operator's database behind this binding. */
  database: z
    .strictObject({ binding: z.string().min(1), access: z.enum(['read', 'write']) })
    .optional(),
  /** May run code that a model wrote, in an isolate with nothing. */
  isolate: z.boolean().default(false),
})
