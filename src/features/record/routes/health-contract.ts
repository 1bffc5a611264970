import * as z from 'zod'
import { roles } from '#contracts/role.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { dayAmount } from './record-contract.ts'
import { atMs, count, flag, text } from '#contracts/routes/shapes.ts'

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

/** How the deployment is, and this document. */
export const healthContracts = {
  'GET /healthz': {
    summary: 'Whether the Worker answers.',
    replies: { 200: { is: 'It does.', json: z.object({ status: z.literal('ok') }) } },
  },
  'GET /api/openapi.json': {
    summary: 'This document.',
    replies: {
      200: { is: 'OpenAPI 3.1.', json: z.looseObject({ openapi: text, paths: z.looseObject({}) }) },
    },
    errors: [404],
  },
  'GET /api/status': {
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
  },
  'GET /api/operator/health': {
    summary: 'How the deployment is.',
    replies: { 200: { is: 'Also where something is down.', json: health } },
  },
  'DELETE /api/operator/incidents/:incident': {
    summary: 'Takes an incident off the list; one that goes on is reported anew.',
    params: { incident: 'Its `id`, as /api/operator/health has it.' },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, cleared: flag }) } },
    errors: [404],
  },
} satisfies ApiContracts
