import * as z from 'zod'
import { signatureScheme } from './signature-scheme.ts'

const secretName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be capital letters, digits and underscores: GITHUB_TOKEN')

/** The form of `at`, by the place. */
const slots = {
  header: [/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header: X-Api-Key'],
  path: [
    /^(?=[^{}]*\{\}[^{}]*$)(\/[\w\-.~!$&'()*+,;=:@%{}]+)+$/,
    'must be the path to the secret, with {} where it stands: /bot{}',
  ],
  query: [/^[\w\-.~]{1,100}$/, 'must be the name of a parameter: key'],
} as const

/**
 * One place in a request, exactly: `at` names the header, the path or the parameter. Manifests from before that left it
 * out: without it a header is `Authorization`, and a path is refused when it is used.
 */
const secretGrant = z.lazy(() =>
  z
    .strictObject({
      name: secretName,
      host: z.string().min(1).optional(),
      in: z.enum(['header', 'basic', 'path', 'query', 'hmac']),
      at: z.string().max(200).optional(),
      scheme: signatureScheme.optional(),
    })
    .superRefine(({ in: place, host, at, scheme }, context) => {
      const wrong = (field: string, message: string) =>
        context.addIssue({ code: 'custom', path: [field], message })
      if ((place === 'hmac') === (host !== undefined))
        wrong('host', 'is required, but for in: hmac, which has none')
      if (place !== 'hmac' && scheme !== undefined) wrong('scheme', 'is for in: hmac only')
      if (place === 'query' && at === undefined) wrong('at', slots.query[1])
      if (at === undefined) return
      if (place === 'hmac' || place === 'basic') return wrong('at', `is not for in: ${place}`)
      const [form, message] = slots[place]
      if (!form.test(at)) wrong('at', message)
    }),
)

/** `grants` of a manifest: the plugin's requests. The operator allows a permit (`permit.ts`). */
export const grantsSchema = z.lazy(() =>
  z.strictObject({
    network: z
      .array(
        z.strictObject({
          host: z.string().min(1),
          methods: z.array(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])).min(1),
        }),
      )
      .default([]),
    /** By reference: the plugin holds a placeholder, the host puts the value in at this place. `hmac` needs no host. */
    secrets: z.array(secretGrant).default([]),
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
  }),
)
