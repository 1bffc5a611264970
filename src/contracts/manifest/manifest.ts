import * as z from 'zod'
import {
  agentManifest,
  jsonSchema,
  checkAgentHandoff,
  checkToolHandoff,
  handoffSchema,
} from './agent-manifest.ts'
import { cronProblem } from '../schedule-requests.ts'
import { eventManifests } from '../event-bus.ts'
import { offerProblems, promptManifests, resourceManifests } from './manifest-offers.ts'
import { providerKinds } from '../provider.ts'

/** Ways in which a service signs its requests: which headers, which parts of the request, and how. */
export const requestSchemes = [
  'github',
  'slack',
  'stripe',
  'shopify',
  'line',
  'discord',
  'telegram',
] as const
/** Ways to write the HMAC-SHA-256 of a text. */
export const textSchemes = ['hex', 'base64'] as const

/** `scheme` of a grant `in: hmac`. */
export const signatureScheme = z.enum([...textSchemes, ...requestSchemes])

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

/** The id of a plugin, or of another owner of tools whose names begin with it. */
export const ownerId = z
  .string()
  .max(24)
  .regex(
    /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/,
    'must be lowercase words joined by single hyphens, starting with a letter',
  )
/** With the plugin's id before it a name has at most 64 characters: up to 36 in any plugin. */
const declaredSink = z.enum(['spend', 'message', 'code'])

const toolName = z
  .string()
  .max(61)
  .regex(
    /^[a-z][a-z0-9_]*$/,
    'must be lowercase letters, digits and underscores, starting with a letter',
  )
const toolManifest = z.lazy(() =>
  z
    .strictObject({
      name: toolName,
      description: z.string().min(1).max(2_000),
      input_schema: jsonSchema.default({
        type: 'object',
        properties: {},
        additionalProperties: false,
      }),
      /** The schema of its output by its author, for signatures; results are not checked against it. */
      output_schema: jsonSchema.optional(),
      annotations: z
        .strictObject({
          readOnlyHint: z.boolean().optional(),
          idempotentHint: z.boolean().optional(),
          destructiveHint: z.boolean().optional(),
          openWorldHint: z.boolean().optional(),
        })
        .default({}),
      timeout_ms: z.int().min(1).max(600_000).optional(),
      /** A principal must approve each call, with the arguments it has. */
      requires_approval: z.boolean().optional(),
      /** Its code may keep the conversation: it is given each further message as `message`. */
      handoff: handoffSchema.optional(),
      /** Effects that no grant shows: it pays, a person reads its input, it makes code or work that runs later. */
      sink: z
        .union([declaredSink, z.array(declaredSink).max(3)])
        .transform((sinks) => [sinks].flat())
        .optional(),
    })
    .superRefine(checkToolHandoff),
)

/**
 * Where a plugin may listen in; `match` is a pattern (`kv__*`) over tool names for the tool hooks, over agents
 * else.
 */
export const hookPoints = [
  'sessionStart',
  'sessionEnd',
  'sessionReset',
  'beforeModelCall',
  'afterModelCall',
  'beforeToolCall',
  'afterToolCall',
  'subAgentStop',
  'beforeDispatch',
] as const

const hookManifest = z.lazy(() =>
  z.strictObject({
    on: z.enum(hookPoints),
    match: z
      .string()
      .max(100)
      .regex(/^(\*|[^*]+\*?)$/, 'must be a name, or the start of one with * at the end: kv__*')
      .default('*'),
  }),
)

/**
 * `plugin.yaml` as a plugin's author writes it. Unknown keys are rejected; an error names the path.
 * Keys keep the file's spelling.
 */
export const manifestSchema = z.lazy(() =>
  z
    .strictObject({
      id: ownerId,
      name: z.string().min(1).max(80),
      version: z
        .string()
        .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, 'must be a semantic version such as 1.2.3'),
      api: z.string().min(1).default('>=1.0 <2.0'),
      entrypoint: z.string().min(1).optional(),
      description: z.string().min(1).max(2_000),
      natural_language_description: z.string().max(4_000).optional(),
      enabled: z.boolean().default(true),
      contributes: z
        .strictObject({
          tools: z.array(toolManifest).default([]),
          hooks: z.array(hookManifest).max(32).default([]),
          skills: z.array(z.string()).default([]),
          resources: resourceManifests,
          prompts: promptManifests,
          events: eventManifests,
          /** The built-in parts that it replaces. */
          providers: z.array(z.enum(providerKinds)).max(providerKinds.length).default([]),
        })
        .prefault({}),
      grants: grantsSchema.prefault({}),
      depends_on: z.array(ownerId).default([]),
      uses_tools: z.array(z.string()).default([]),
      agent: agentManifest.unwrap().superRefine(checkAgentHandoff).optional(),
      schedule: z
        .string()
        .superRefine((schedule, context) => {
          const message = cronProblem(schedule)
          if (message !== undefined) context.addIssue({ code: 'custom', message })
        })
        .optional(),
      config_schema: jsonSchema.optional(),
      config: z.record(z.string(), z.unknown()).default({}),
    })
    .superRefine((manifest, context) => {
      const names = new Set<string>()
      for (const [index, tool] of manifest.contributes.tools.entries()) {
        if (names.has(tool.name)) {
          context.addIssue({
            code: 'custom',
            path: ['contributes', 'tools', index, 'name'],
            message: `is declared twice: ${tool.name}`,
          })
        }
        names.add(tool.name)
        const room = 62 - manifest.id.length
        if (tool.name.length > room) {
          context.addIssue({
            code: 'custom',
            path: ['contributes', 'tools', index, 'name'],
            message: `has more than ${room} characters, which is what the id leaves of 64`,
          })
        }
      }
      for (const { path, message } of offerProblems(manifest.contributes))
        context.addIssue({ code: 'custom', path: ['contributes', ...path], message })
      const needsCode = [
        ...(manifest.contributes.tools.length > 0 ? ['contributes.tools is not empty'] : []),
        ...(manifest.contributes.hooks.length > 0 ? ['contributes.hooks is not empty'] : []),
        ...(manifest.contributes.resources.length > 0
          ? ['contributes.resources is not empty']
          : []),
        ...(manifest.contributes.prompts.length > 0 ? ['contributes.prompts is not empty'] : []),
        ...(manifest.contributes.providers.length > 0
          ? ['contributes.providers is not empty']
          : []),
        ...(manifest.schedule === undefined ? [] : ['there is a schedule']),
      ]
      if (needsCode[0] !== undefined && manifest.entrypoint === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['entrypoint'],
          message: `is required when ${needsCode[0]}`,
        })
      }
      if (
        manifest.contributes.providers.length > 0 &&
        manifest.grants.storage?.scope === 'session'
      ) {
        context.addIssue({
          code: 'custom',
          path: ['grants', 'storage', 'scope'],
          message:
            'must be principal or deployment beside contributes.providers: providers are asked outside of sessions',
        })
      }
      if (manifest.schedule !== undefined && names.has('execute')) {
        context.addIssue({
          code: 'custom',
          path: ['contributes', 'tools'],
          message: 'may not declare "execute" beside a schedule: that is the schedule\'s own tool',
        })
      }
      if (manifest.agent && names.has('run')) {
        context.addIssue({
          code: 'custom',
          path: ['contributes', 'tools'],
          message: 'may not declare "run" beside an agent section: that is the agent\'s own tool',
        })
      }
    }),
)

/** A manifest that was checked, with its defaults filled in. */
export type Manifest = z.infer<typeof manifestSchema>

/** The grants that a manifest requests, and in the same shape the grants that an operator allowed. */
export type RequestedGrants = Manifest['grants']

/** Where a plugin came from decides how far it is trusted, never what it claims. */
export type TrustTier = 'builtin' | 'trusted' | 'community'
