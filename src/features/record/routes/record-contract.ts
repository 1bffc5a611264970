import * as z from 'zod'
import { usageKeys } from '#contracts/operations.ts'
import { platformUnits } from '#contracts/platform.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import {
  auditQuery,
  givenUpQuery,
  metricsQuery,
  modelsQuery,
  ownUsageQuery,
  unconfirmedQuery,
  unconfirmedRequest,
  usageQuery,
} from './record-requests.ts'
import { receipt, runView } from '#runtime/session/types/run-view-contract.ts'
import { atMs, count, flag, object, text, usd } from '#contracts/routes/shapes.ts'

const auditRecord = z
  .object({
    type: text.describe('Its kind (docs/events.md).'),
    seq: count.describe('Counts from 1 without gaps, per session.'),
    session: text,
    run: text,
    agent: text,
    principal: text,
    trace: text,
    atMs,
    data: object.describe('What it says, by its kind.'),
  })
  .meta({ id: 'AuditRecord' })

const failures = z.record(text, count).describe('How many, by code.')
const latencyMs = z.object({ mean: z.number(), max: z.number() })
const modelRecord = z
  .object({
    provider: text,
    model: text,
    calls: count,
    failures,
    latencyMs: latencyMs.optional(),
    costUsd: usd,
  })
  .meta({ id: 'ModelRecord' })

const price = { inputUsdPerMillion: usd, outputUsdPerMillion: usd }
const modelStatus = z
  .object({
    id: text,
    capabilities: z.object({
      contextTokens: count.optional(),
      images: flag.optional(),
      tools: flag.optional(),
      structuredOutput: flag.optional(),
    }),
    price: z
      .object({
        ...price,
        above: z.array(z.object({ ...price, inputTokens: count })).optional(),
        source: text,
      })
      .optional(),
    window: z
      .object({
        contextTokens: count.optional(),
        maxOutputTokens: count.optional(),
        source: text,
      })
      .optional(),
    coolingUntilMs: atMs.optional(),
    latencyMs: z.number().optional(),
  })
  .meta({ id: 'ModelStatus' })

const platform = z.partialRecord(z.enum(platformUnits), z.number()).meta({ id: 'PlatformAmounts' })
const spent = {
  runs: count,
  modelCalls: count,
  toolCalls: count,
  tokens: count,
  inputTokens: count,
  outputTokens: count,
  costUsd: usd,
  platform,
  platformUsd: usd,
}
export const dayAmount = z.object({
  tokens: count.nullable().describe('`null`: no limit.'),
  costUsd: usd.nullable().describe('US dollars; `null`: no limit.'),
})
const day = z
  .object({
    principal: text,
    day: text.describe('`YYYY-MM-DD`, UTC.'),
    limits: dayAmount,
    settled: dayAmount,
    reserved: dayAmount,
    unconfirmed: z
      .object({ tokens: count, costUsd: usd })
      .optional()
      .describe('Of `settled`: failed requests of the day that may have reached a provider.'),
    openRuns: count,
  })
  .meta({ id: 'DayUsage' })
const spending = z
  .object({
    by: z.enum(usageKeys),
    sinceMs: atMs,
    untilMs: atMs,
    rows: z.array(
      z.object({
        name: text.nullable(),
        principal: text.optional(),
        agent: text.optional(),
        ...spent,
      }),
    ),
    total: z.object(spent),
    deployment: z
      .object({ platform, platformUsd: usd })
      .optional()
      .describe('What no run made the platform do.'),
  })
  .meta({ id: 'Spending' })

const unconfirmedAttempt = z
  .object({
    id: text,
    principal: text,
    session: text,
    run: text,
    agent: text,
    atMs,
    model: text.describe('`<provider>/<model>`'),
    code: text.describe('How it failed; `lost`: a crash cut it.'),
    tokens: count,
    costUsd: usd,
  })
  .meta({ id: 'UnconfirmedAttempt' })

const givenUp = {
  run: text,
  session: text,
  principal: text,
  agent: text,
  trace: text,
  code: text,
  message: text,
  atMs,
  state: z.enum(['open', 'retried', 'dropped']),
}
const run = 'The run’s id: `run_` and 22 characters.'

/** What happened and what was spent. */
export const recordContracts = {
  'GET /api/operator/audit': {
    summary: 'Reads the record.',
    query: auditQuery,
    replies: {
      200: {
        is: 'A page of it.',
        json: z.object({
          records: z.array(auditRecord),
          next: z
            .union([text, count])
            .optional()
            .describe('There may be more: send it as `after`.'),
          last: count.describe('What arrives later comes after it.'),
          sinceMs: atMs.optional(),
        }),
      },
    },
  },
  'GET /api/operator/models': {
    summary: 'How each model did.',
    query: modelsQuery,
    replies: {
      200: {
        is: 'By the record, and as the isolate that answers sees it.',
        json: z.object({
          sinceMs: atMs,
          record: z.array(modelRecord),
          now: z.array(modelStatus),
        }),
      },
    },
  },
  'GET /api/operator/metrics': {
    summary: 'How agents, tools and models did since a moment.',
    query: metricsQuery,
    replies: {
      200: {
        is: 'Figures.',
        text: 'text/plain',
        json: z.object({
          sinceMs: atMs,
          agents: z.array(
            z.object({
              agent: text,
              runs: count,
              states: z.record(text, count),
              successRate: z.number().optional(),
              turnsPerRun: z.number().optional(),
              modelCalls: count,
              inputTokens: count,
              outputTokens: count,
              costUsd: usd,
            }),
          ),
          tools: z.array(
            z.object({ tool: text, calls: count, failures, errorRate: z.number(), latencyMs }),
          ),
          models: z.array(modelRecord),
        }),
      },
    },
  },
  'GET /api/operator/usage': {
    summary:
      'A principal’s day as it stands; with `by` what was spent. `since`, `until` and `limit` need `by`.',
    query: usageQuery.extend({ by: usageQuery.shape.by.optional() }),
    replies: { 200: { is: 'A day, or sums.', json: z.union([day, spending]) } },
  },
  'GET /api/usage': {
    summary: 'The caller’s own day as it stands; with `by` what it spent.',
    query: ownUsageQuery,
    replies: { 200: { is: 'A day, or sums.', json: z.union([day, spending]) } },
  },
  'GET /api/operator/unconfirmed': {
    summary: 'Lists failed requests to models that may have reached one: what they hold is booked.',
    query: unconfirmedQuery,
    replies: {
      200: {
        is: 'Those of the last day, or since `since`, the newest first.',
        json: z.object({
          attempts: z.array(unconfirmedAttempt),
          next: z
            .union([text, count])
            .optional()
            .describe('`after` of the next page; absent on the last one.'),
        }),
      },
    },
  },
  'POST /api/operator/unconfirmed/:id': {
    summary: 'Says what such a request came to: what it did not cost is given back.',
    params: { id: 'Of the list: the session, the run and the place in its log.' },
    body: unconfirmedRequest,
    replies: {
      200: {
        is: 'What it held and what it came to. The same again changes nothing.',
        json: z.object({
          id: text,
          principal: text,
          held: z.object({ tokens: count, costUsd: usd }),
          spent: z.object({ tokens: count, costUsd: usd }),
        }),
      },
    },
    errors: [404, 409],
  },
  'GET /api/operator/runs': {
    summary: 'Lists runs that were given up.',
    query: givenUpQuery,
    replies: { 200: { is: 'The runs.', json: z.object({ runs: z.array(z.object(givenUp)) }) } },
  },
  'GET /api/operator/runs/:run': {
    summary: 'A run that was given up.',
    params: { run },
    replies: {
      200: {
        is: 'It, with what its session knows of it.',
        json: z.object({ ...givenUp, view: runView.nullable() }),
      },
    },
  },
  'POST /api/operator/runs/:run/retry': {
    summary: 'Starts its task again as a new run.',
    params: { run },
    body: noFields,
    isBodyOptional: true,
    replies: {
      202: {
        is: 'The receipt of that run.',
        headers: ['location', 'idempotent-replayed'],
        json: receipt,
      },
    },
    errors: [409],
  },
  'POST /api/operator/runs/:run/drop': {
    summary: 'Takes it off the list.',
    params: { run },
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'It.', json: z.object(givenUp) } },
    errors: [409],
  },
} satisfies ApiContracts
