import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { roles } from '#contracts/keys.ts'
import { dayOf, shownAmount, type DayDeps } from './usage.ts'
import { anyone, keyHolders, operators, readers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, dayAmount, flag, text } from '#platform/routes/shapes.ts'
import { clearIncident, readHealth, type HealthDeps } from './health.ts'
import { selectedModel } from '#platform/routes/targets.ts'

interface FileDeps {
  /** Reads a file that was uploaded with the Worker; absent without such files. */
  readonly readAsset?: ((path: string) => Promise<Response>) | undefined
}

interface StatusDeps extends DayDeps {
  readonly version: string
  readonly models: HealthDeps['models']
}

const problem = z.object({ plugin: text, code: text, message: text })
const incident = z.object({
  id: text.describe('Names it, for DELETE /api/operator/incidents/:incident.'),
  kind: text,
  session: text,
  run: text.optional(),
  message: text,
  count,
  firstAtMs: atMs,
  lastAtMs: atMs,
})

const health = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: text,
    database: z.enum(['ok', 'unreachable']),
    migrations: z.discriminatedUnion('state', [
      z.object({ state: z.literal('ready'), migration: text }),
      z.object({ state: z.literal('not_migrated'), message: text }),
      z.object({ state: z.literal('unreachable') }),
    ]),
    plugins: z.array(problem).describe('Those that are off, and why.'),
    secrets: z.union([z.literal('ok'), z.object({ problem: text })]),
    models: z.object({
      default: text.nullable(),
      served: z.array(text),
      problem: text.optional(),
    }),
    incidents: z
      .object({ counts: z.record(text, count), newest: z.array(incident) })
      .nullable()
      .describe('What has gone wrong; `null`: not known.'),
  })
  .meta({ id: 'Health' })

/** Health of the deployment, the caller's own principal, and the OpenAPI document. */
export default [
  route('GET /healthz', {
    roles: anyone,
    summary: 'Whether the Worker answers.',
    replies: { 200: { is: 'It does.', json: z.object({ status: z.literal('ok') }) } },
    handle: () => ({ status: 'ok' }),
  }),
  route('GET /api/openapi.json', {
    roles: keyHolders,
    summary: 'This document.',
    replies: {
      200: { is: 'OpenAPI 3.1.', json: z.looseObject({ openapi: text, paths: z.looseObject({}) }) },
    },
    errors: [404],
    async handle({ readAsset }: FileDeps) {
      const file = await readAsset?.('/openapi.json')
      if (file?.ok)
        return new Response(file.body, { headers: { 'content-type': 'application/json' } })
      const message =
        'This deployment was uploaded without its files; the document is docs/openapi.json of the repository.'
      throw new IsolaError('request_not_found', message)
    },
  }),
  route('GET /api/status', {
    roles: keyHolders,
    summary: 'Who the caller is here, what answers it, and what its day has left.',
    replies: {
      200: {
        is: 'To every key.',
        json: z
          .object({
            version: text,
            principal: text,
            role: z.enum(roles),
            model: text.nullable().describe('What answers where no model is named.'),
            day: z
              .object({ limits: dayAmount, settled: dayAmount, reserved: dayAmount })
              .nullable()
              .describe('Today (UTC); `null`: not known now.'),
          })
          .meta({ id: 'Status' }),
      },
    },
    async handle(deps: StatusDeps, { caller: { id: principal, role } }) {
      // The reply is useful without the day too, if that cannot be read.
      const usage = await dayOf(deps, principal).catch(() => undefined)
      const day = usage && {
        limits: shownAmount(usage.limits),
        settled: shownAmount(usage.settled),
        reserved: shownAmount(usage.reserved),
      }
      const model = selectedModel(deps) ?? null
      return { version: deps.version, principal, role, model, day: day ?? null }
    },
  }),
  route('GET /api/operator/health', {
    roles: readers,
    summary: 'How the deployment is.',
    replies: { 200: { is: 'Also where something is down.', json: health } },
    needsAgents: true,
    handle: (deps: HealthDeps) => readHealth(deps),
  }),
  route('DELETE /api/operator/incidents/:incident', {
    roles: operators,
    summary: 'Takes an incident off the list; one that goes on is reported anew.',
    params: { incident: 'Its `id`, as /api/operator/health has it.' },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, cleared: flag }) } },
    errors: [404],
    handle: (deps: HealthDeps, { params: of }) => clearIncident(deps, of.incident),
  }),
] as const
