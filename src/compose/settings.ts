// The settings of a deployment: variables and secrets. Imported by the Worker, and by `isola doctor`, which finds
// faults with the same code.
import * as z from 'zod'
import {
  type ModelConfig,
  keyNamesIn,
  priceSettings,
  providerSettings,
  toModelServers,
} from '#platform/models/types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { PluginQuota } from '#runtime/catalog/types/plugin-catalog.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'
import {
  captureContent,
  headerSecretsIn,
  logLevel,
  otlpEndpoint,
  otlpHeaders,
} from '#features/record/types/telemetry-settings.ts'
import { dailyCostUsd, dailyTokens } from '#features/access/limits-of.ts'
import { locations } from '#platform/objects/location.ts'
import { oidcSettings, toOidc } from '#features/access/oauth/oidc/people.ts'

const dayMs = 86_400_000
/** A variable of `wrangler.toml` may be a number, a secret is text; empty means not set. */
const whole = (form: RegExp, message: string) =>
  z
    .union([z.string(), z.number()], message)
    .optional()
    .transform((value) => String(value ?? '').trim())
    .refine((text) => text === '' || form.test(text), message)
/** How long a named session is kept after its last run. */
const keepDays = whole(/^[1-9]\d{0,3}$/, 'must be 1 to 9999 days')
/** How long the record is kept. Not 0: it could mean nothing, or all of it. */
const keepAuditDays = whole(/^(forever|[1-9]\d{0,3})$/, 'must be 1 to 9999 days, or forever')
/** How long a principal's days are kept: more than a run may be parked, so that each settles in its own. */
const keepUsageDays = whole(/^([89]|[1-9]\d{1,3})$/, 'must be 8 to 9999 days')
const defaultKeepAuditDays = 365
/**
 * How long an operator can go back to an earlier generation: longer than a run may wait, so that its generation still
 * exists when it goes on.
 */
const keepVersionsDays = whole(/^([89]|[1-9]\d{1,3})$/, 'must be 8 to 9999 days')
const defaultKeepVersionsDays = 90
const defaultKeepDraftDays = 30
/** Cloudflare's price of each isolate id a day; a developer's machine costs nothing. */
const isolatePriceNanoUsd = 2_000_000

const count = whole(/^[1-9]\d{0,5}$/, 'must be a whole number, 1 to 999999')

/** Names with commas between them. */
const listOf = (isName: (name: string) => boolean, message: string) =>
  z
    .string()
    .optional()
    .transform((text) => (text ?? '').split(',').flatMap((name) => name.trim() || []))
    .refine((names) => names.every(isName), message)

/** Bindings of databases that plugins may be given. Never the deployment's own. */
const sqlDatabases = listOf(
  (name) => /^[A-Za-z_]\w*$/.test(name) && name !== 'DB',
  "must be names of D1 bindings with commas between them, and not DB, which is Isola's own",
)

/** Trusted plugins whose code has one isolate for all principals, or `*`. */
const sharedIsolates = listOf(
  (id) => /^(\*|[a-z][a-z0-9-]{0,23})$/.test(id),
  'must be ids of plugins with commas between them, or *',
)

/** Names under which clients reach this deployment, besides localhost and its workers.dev name. */
const hosts = listOf(
  (name) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name),
  'must be host names with commas between them, without scheme or port: agents.example.com',
).transform((names) => names.map((name) => name.toLowerCase()))

const configSchema = z.object({
  ISOLA_HOSTS: hosts,
  /** In development the port at which `npm start` lets it answer. */
  ISOLA_PORT: z.string().optional(),
  ISOLA_ENV: z.string().optional(),
  ISOLA_OPERATOR_KEY: z.string().optional(),
  ISOLA_MODEL: z.string().optional(),
  ISOLA_PROVIDERS: providerSettings,
  ISOLA_PRICES: priceSettings,
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional(),
  ISOLA_DAILY_TOKENS: dailyTokens,
  ISOLA_DAILY_COST_USD: dailyCostUsd,
  ISOLA_ISOLATE_PRICE_USD: dailyCostUsd,
  ISOLA_SHARED_ISOLATES: sharedIsolates,
  ISOLA_KEEP_DAYS: keepDays,
  ISOLA_KEEP_AUDIT_DAYS: keepAuditDays,
  ISOLA_KEEP_USAGE_DAYS: keepUsageDays,
  ISOLA_KEEP_VERSIONS_DAYS: keepVersionsDays,
  /** Days after its last writing until a draft of a skill that no operator promoted is deleted. */
  ISOLA_KEEP_DRAFT_DAYS: keepDays,
  /** The limits of an author's uploads; an operator's are fifty times as high. */
  ISOLA_AUTHOR_VERSIONS: count,
  ISOLA_AUTHOR_MIB: count,
  ISOLA_AUTHOR_ADDS_PER_HOUR: count,
  ISOLA_SQL_DATABASES: sqlDatabases,
  /** Where the objects that serve the whole deployment are made. */
  ISOLA_LOCATION: z
    .union([z.literal(''), z.enum(locations)], `must be one of ${locations.join(', ')}`)
    .optional(),
  ISOLA_LOG: logLevel,
  ...oidcSettings,
  ISOLA_MASTER_KEY: z.string().optional(),
  /** The previous master key, until `isola secret rotate` went well. */
  ISOLA_MASTER_KEY_PREVIOUS: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint,
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders,
  OTEL_SERVICE_NAME: z.string().max(200).optional(),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: captureContent,
})

/** Reads the settings once. Their faults are answered to every request: a Worker that cannot start says nothing. */
export function parseConfig(env: unknown) {
  const parsed = configSchema.safeParse(env)
  const issue = parsed.error?.issues[0]
  const data: Partial<z.infer<typeof configSchema>> = parsed.data ?? {}
  const invalid =
    issue && new IsolaError('config_invalid', `${issue.path.join('.')}: ${issue.message}`)
  const servers = modelServers(data.ISOLA_PROVIDERS ?? [], env)
  const problem = invalid ?? servers.problem
  const models: ModelConfig = {
    ...(data.OPENAI_API_KEY && { openaiApiKey: data.OPENAI_API_KEY }),
    ...(data.OPENAI_BASE_URL && { openaiBaseUrl: data.OPENAI_BASE_URL }),
    ...(data.ISOLA_MODEL && { defaultModel: data.ISOLA_MODEL }),
    servers: servers.list,
    prices: data.ISOLA_PRICES ?? {},
    isDevelopment: data.ISOLA_ENV === 'development',
  }
  const otlp = {
    url: data.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: data.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    serviceName: data.OTEL_SERVICE_NAME || 'isola',
    capturesContent: data.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT ?? false,
  }
  return {
    models,
    otlp,
    logLevel: data.ISOLA_LOG ?? (models.isDevelopment ? ('error' as const) : ('info' as const)),
    /** Everything that may stand in no log and go to no collector. */
    secrets: secretsIn(env),
    isDevelopment: models.isDevelopment,
    oidc: toOidc(data),
    sqlDatabases: data.ISOLA_SQL_DATABASES ?? [],
    hosts: data.ISOLA_HOSTS ?? [],
    location: data.ISOLA_LOCATION || undefined,
    /** The host of this machine that the `http` tools may read without a grant: this server itself. */
    ownHosts:
      models.isDevelopment && /^\d{1,5}$/.test(data.ISOLA_PORT ?? '')
        ? [`localhost:${data.ISOLA_PORT}`, `127.0.0.1:${data.ISOLA_PORT}`]
        : [],
    operatorKey: data.ISOLA_OPERATOR_KEY,
    masterKeys: { current: data.ISOLA_MASTER_KEY, previous: data.ISOLA_MASTER_KEY_PREVIOUS },
    ...keptMs(env),
    pluginQuota: toPluginQuota(data),
    keepUsageDays: data.ISOLA_KEEP_USAGE_DAYS ? Number(data.ISOLA_KEEP_USAGE_DAYS) : undefined,
    isolatePriceNanoUsd:
      (data.ISOLA_ISOLATE_PRICE_USD ?? unlimited) < unlimited
        ? Number(data.ISOLA_ISOLATE_PRICE_USD)
        : models.isDevelopment
          ? 0
          : isolatePriceNanoUsd,
    sharesIsolate: (plugin: string): boolean =>
      ['*', plugin].some((id) => data.ISOLA_SHARED_ISOLATES?.includes(id)),
    /** The limits of every principal that has none of its own. */
    dailyLimits: (): DayAmount => {
      if (problem) throw problem
      const { ISOLA_DAILY_TOKENS: tokens, ISOLA_DAILY_COST_USD: costNanoUsd } = data
      return { tokens: tokens ?? unlimited, costNanoUsd: costNanoUsd ?? unlimited }
    },
    problem,
  }
}

function toPluginQuota(data: Partial<z.infer<typeof configSchema>>): PluginQuota {
  return {
    maxVersions: Number(data.ISOLA_AUTHOR_VERSIONS || 200),
    maxBytes: Number(data.ISOLA_AUTHOR_MIB || 128) * 1024 * 1024,
    maxAddsPerHour: Number(data.ISOLA_AUTHOR_ADDS_PER_HOUR || 60),
  }
}

/**
 * Retention times of rows that cannot be restored, each read by itself: a fault in another setting must not shorten
 * it, and a faulty time itself keeps all rows.
 */
function keptMs(env: unknown): {
  /** Absent: as the timing says. */
  readonly keepNamedMs?: number
  /** Absent: for ever. */
  readonly keepAuditMs?: number
  readonly keepVersionsMs: number
  readonly keepDraftsMs: number
} {
  const read = (schema: typeof keepDays, name: string, whenWrong: string) => {
    const parsed = schema.safeParse(Reflect.get(Object(env), name))
    return parsed.success ? parsed.data : whenWrong
  }
  const named = read(keepDays, 'ISOLA_KEEP_DAYS', '9999')
  const audit = read(keepAuditDays, 'ISOLA_KEEP_AUDIT_DAYS', 'forever')
  const drafts = read(keepDays, 'ISOLA_KEEP_DRAFT_DAYS', '9999')
  const versions = read(keepVersionsDays, 'ISOLA_KEEP_VERSIONS_DAYS', '9999')
  return {
    keepVersionsMs: Number(versions || defaultKeepVersionsDays) * dayMs,
    keepDraftsMs: Number(drafts || defaultKeepDraftDays) * dayMs,
    ...(named && { keepNamedMs: Number(named) * dayMs }),
    ...(audit !== 'forever' && { keepAuditMs: Number(audit || defaultKeepAuditDays) * dayMs }),
  }
}

/**
 * The secret settings, each read by itself: when another setting is faulty, the log needs the list of secrets to
 * redact most of all.
 */
function secretsIn(env: unknown): readonly string[] {
  const read = (name: string): readonly string[] => {
    const value: unknown = Reflect.get(Object(env), name)
    return typeof value === 'string' ? [value] : []
  }
  const named = [
    'ISOLA_OPERATOR_KEY',
    'ISOLA_MASTER_KEY',
    'ISOLA_MASTER_KEY_PREVIOUS',
    'OPENAI_API_KEY',
    'ISOLA_OIDC_CLIENT_SECRET',
  ]
  return [
    ...[...named, ...read('ISOLA_PROVIDERS').flatMap(keyNamesIn)].flatMap(read),
    ...read('OTEL_EXPORTER_OTLP_HEADERS').flatMap(headerSecretsIn),
  ]
}

/** Further model servers, their keys looked up by name. */
function modelServers(settings: Parameters<typeof toModelServers>[0], env: unknown) {
  try {
    return { list: toModelServers(settings, (name) => Reflect.get(Object(env), name)) }
  } catch (error) {
    if (error instanceof IsolaError) return { list: [], problem: error }
    throw error
  }
}
