import * as z from 'zod'
import { usageKeys, type MetricsReport, type ModelReport } from './types/operations.ts'
import { platformUnits } from '#contracts/platform.ts'
import type { Sources } from '#contracts/sources.ts'
import { dayMs, maxWindowMs } from '#platform/routes/queries.ts'
import { keyHolders, operators, readers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, dayAmount, flag, object, text, usd } from '#platform/routes/shapes.ts'
import type { Targets } from '#platform/routes/targets.ts'
import {
  readAudit,
  type AuditDeps,
  confirmAttempt,
  listUnconfirmed,
  type ConfirmDeps,
} from './routes/audit.ts'
import { toExposition } from './routes/metrics-text.ts'
import {
  auditQuery,
  metricsQuery,
  modelsQuery,
  ownUsageQuery,
  unconfirmedQuery,
  unconfirmedRequest,
  usageQuery,
} from './routes/requests.ts'
import { readOwnUsage, readUsage, type UsageDeps } from './routes/usage.ts'

interface ModelReportDeps {
  readonly modelReport: ModelReport
  readonly models: Pick<Targets['models'], 'status'>
  readonly sources: Sources
}
interface MetricsDeps {
  readonly metrics: MetricsReport
  readonly sources: Sources
}

const hourMs = 3_600_000

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

/**
 * Routes of the record: audit, models and agents, spending (`/api/usage`: the caller's own), unconfirmed model
 * requests.
 */
export default [
  route('GET /api/operator/audit', {
    roles: readers,
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
    handle: (deps: AuditDeps, { query }) => readAudit(deps, query),
  }),
  route('GET /api/operator/models', {
    roles: readers,
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
    async handle({ modelReport, models, sources }: ModelReportDeps, { query: { hours = 24 } }) {
      const sinceMs = sources.clock.nowMs() - hours * hourMs
      const record = await modelReport.since(sinceMs)
      return { sinceMs, record: record.map(inDollars), now: models.status() }
    },
  }),
  route('GET /api/operator/metrics', {
    roles: operators,
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
    async handle({ metrics, sources }: MetricsDeps, { query: { since, format }, raw }) {
      const nowMs = sources.clock.nowMs()
      const sinceMs = Math.max(since ?? nowMs - dayMs, nowMs - maxWindowMs)
      const { agents, tools, models } = await metrics.since(sinceMs)
      const isText = (format ?? formatOf(raw.headers.get('accept') ?? '')) === 'prometheus'
      if (!isText)
        return { sinceMs, agents: agents.map(inDollars), tools, models: models.map(inDollars) }
      return new Response(toExposition({ agents, tools, models }), {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      })
    },
  }),
  route('GET /api/operator/usage', {
    roles: readers,
    summary:
      'A principal’s day as it stands; with `by` what was spent. `since`, `until` and `limit` need `by`.',
    query: usageQuery.extend({ by: usageQuery.shape.by.optional() }),
    replies: { 200: { is: 'A day, or sums.', json: z.union([day, spending]) } },
    readsItself: true,
    handle: (deps: UsageDeps, request) => readUsage(deps, request),
  }),
  route('GET /api/usage', {
    roles: keyHolders,
    summary: 'The caller’s own day as it stands; with `by` what it spent.',
    query: ownUsageQuery,
    replies: { 200: { is: 'A day, or sums.', json: z.union([day, spending]) } },
    handle: (deps: UsageDeps, request) => readOwnUsage(deps, request),
  }),
  route('GET /api/operator/unconfirmed', {
    roles: readers,
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
    handle: (deps: AuditDeps, { query }) => listUnconfirmed(deps, query),
  }),
  route('POST /api/operator/unconfirmed/:id', {
    roles: operators,
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
    handle: (deps: ConfirmDeps, request) => confirmAttempt(deps, request, request.body),
  }),
] as const

/** The format of the reply: Prometheus for a scraper, JSON for a browser and curl. */
const formatOf = (accept: string): 'json' | 'prometheus' =>
  /text\/plain|openmetrics-text/.test(accept) && !accept.includes('json') ? 'prometheus' : 'json'

const inDollars = <T extends { readonly costNanoUsd: number }>({ costNanoUsd, ...rest }: T) => ({
  ...rest,
  costUsd: costNanoUsd / 1e9,
})
