import { z } from 'zod'
import { bundledPlugins } from './bundled.gen.ts'
import { isolateModules, isolateVersion } from './isolate.gen.ts'
import { createAgentDirectory } from './agents/agent-directory.ts'
import { createOutputStore, createOutputTool } from './catalog/output-tool.ts'
import { withOutsideTools } from './catalog/outside-tools.ts'
import { createSchemaValidator } from './catalog/schema-validator.ts'
import { createSearchIndex } from './catalog/search/search-index.ts'
import { createToolset } from './catalog/toolset.ts'
import type { ModelConfig } from '#contracts/config.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import { providerSettings, toModelServers } from '#contracts/provider-settings.ts'
import type { PluginProblem, Readiness } from '#contracts/operations.ts'
import {
  defaultPrincipalTiming,
  type DayAmount,
  type PrincipalTiming,
} from '#contracts/principal.ts'
import {
  defaultTiming,
  type GateParts,
  type SessionRuntime,
  type SessionTiming,
} from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'
import { systemSources } from './sources.ts'
import { dailyCostUsd, dailyTokens } from './governance/daily-limits.ts'
import { createAuthenticator } from './governance/authenticator.ts'
import { createKeyAdministration } from './governance/key-administration.ts'
import { createLimitsOf } from './governance/limits-of.ts'
import { createLoginLimit } from './governance/login-limit.ts'
import { openPolicy } from './governance/open-policy.ts'
import { createPrincipalLedger } from './governance/principal-ledger.ts'
import type { PrincipalRuntime } from './governance/principal-object.ts'
import type { HttpDeps } from './http/deps.ts'
import { parallelExecutor } from './kernel/executor.ts'
import { createKernel } from './kernel/run.ts'
import { finishReflector, modelPlanner } from './kernel/model-planner.ts'
import { createPromptStore } from './memory/prompt-store.ts'
import { createScratchpad } from './memory/scratchpad.ts'
import { createModelProviders } from './models/model-providers.ts'
import { loadPlugins } from './plugins/in-process-host.ts'
import { createIsolateHost, type PluginRunnerStub } from './plugins/isolate/isolate-host.ts'
import type { RunnerParts } from './plugins/isolate/run-call.ts'
import { createCodeSource } from './plugins/isolate/code-source.ts'
import { createIsolates } from './plugins/isolate/worker-code.ts'
import { toToolEntries } from './plugins/tool-entries.ts'
import { createSessionGateway } from './sessions/gateway.ts'
import { createAuditReader, createAuditSink } from './storage/audit-log.ts'
import { createDeploymentLog } from './storage/deployment-log.ts'
import { createGivenUpRuns } from './storage/given-up-runs.ts'
import { createKeyStore } from './storage/keys.ts'
import { createManifestStore } from './storage/manifests.ts'
import { createModelReport } from './storage/model-report.ts'
import { readDatabaseState, readReadiness } from './storage/readiness.ts'
import packageJson from '../package.json' with { type: 'json' }

/** How long a named session is kept after its last run. */
const keepDays = z
  .union([z.literal(''), z.string().regex(/^[1-9]\d{0,3}$/, 'must be 1 to 9999 days')])
  .optional()

const configSchema = z.object({
  ISOLA_ENV: z.string().optional(),
  ISOLA_OPERATOR_KEY: z.string().optional(),
  ISOLA_MODEL: z.string().optional(),
  ISOLA_PROVIDERS: providerSettings,
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional(),
  ISOLA_DAILY_TOKENS: dailyTokens,
  ISOLA_DAILY_COST_USD: dailyCostUsd,
  ISOLA_KEEP_DAYS: keepDays,
})

/** Reads the settings once. What is wrong with them is told on every request: a Worker that cannot start tells nothing. */
function parseConfig(env: unknown) {
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
    isDevelopment: data.ISOLA_ENV === 'development',
  }
  return {
    models,
    isDevelopment: models.isDevelopment,
    operatorKey: data.ISOLA_OPERATOR_KEY,
    keepNamedMs: data.ISOLA_KEEP_DAYS ? Number(data.ISOLA_KEEP_DAYS) * 86_400_000 : undefined,
    /** Of every principal that has no limits of its own. */
    dailyLimits: (): DayAmount => {
      if (problem) throw problem
      const { ISOLA_DAILY_TOKENS: tokens, ISOLA_DAILY_COST_USD: costNanoUsd } = data
      return { tokens: tokens ?? unlimited, costNanoUsd: costNanoUsd ?? unlimited }
    },
    problem,
  }
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

export interface Runtime {
  readonly session: SessionRuntime
  readonly principal: PrincipalRuntime
  readonly http: HttpDeps
  readonly runner: RunnerParts
}

/** What only the Worker's entry module can reach. */
export interface Platform {
  /** This deployment's own `PluginRunner`. */
  readonly runner?: () => PluginRunnerStub
}

/** Builds the runtime from bindings: leaves first, then what uses them. Wiring only, no decisions. */
export function composeRuntime(
  env: Env,
  sources: Sources = systemSources,
  timing: SessionTiming & Partial<PrincipalTiming> = defaultTiming,
  { runner }: Platform = {},
): Runtime {
  const { clock, sha256 } = sources
  const config = parseConfig(env)
  const manifests = createManifestStore(env.DB, clock)
  const sessions = createSessionGateway({ namespace: env.SESSION, sha256 })
  const keys = createKeyStore(env.DB)
  const limitsOf = createLimitsOf({ defaults: config.dailyLimits, keys, clock })
  const principals = createPrincipalLedger({ namespace: env.PRINCIPAL, sha256, clock, limitsOf })
  const models = createModelProviders(config.models, {
    fetch: (input, init) => fetch(input, init),
    sleep: clock.sleep,
    nowMs: clock.nowMs,
    buildIndex: createSearchIndex,
    ai: env.AI,
  })
  const validator = createSchemaValidator()
  const isolates = createIsolates({
    loader: env.LOADER,
    shim: { modules: isolateModules, version: isolateVersion },
    codeOf: createCodeSource(bundledPlugins),
  })
  const loaded = loadPlugins(bundledPlugins, {
    validator,
    isolates:
      runner && isolates && createIsolateHost({ runner, sha256, shimVersion: isolateVersion }),
  })
  const capabilities = {
    sessions,
    isDevelopment: config.isDevelopment,
    fetch: (url: string, init: RequestInit) => fetch(url, init),
    createMemory: (storage: Parameters<typeof createScratchpad>[0]['storage']) =>
      createScratchpad({ storage, buildIndex: createSearchIndex }),
  }
  const outputTool = createOutputTool(sessions)
  const catalog = createAgentDirectory({
    plugins: loaded.plugins.map((plugin) => ({
      ...plugin,
      tools: toToolEntries(plugin, capabilities),
    })),
    prompts: createPromptStore(),
    sessions,
    clock,
    createToolset: (entries, options) =>
      createToolset(entries, { ...options, buildIndex: createSearchIndex, more: [outputTool] }),
    withOutside: withOutsideTools,
  })
  const gates: GateParts = { ...openPolicy, validator, outputs: createOutputStore(sessions) }
  const kernel = createKernel({
    ...sources,
    models: models.provider,
    planner: modelPlanner,
    executor: parallelExecutor,
    reflector: finishReflector,
    gates,
  })
  const problems: readonly PluginProblem[] = [...loaded.problems, ...catalog.problems]
  const session: SessionRuntime = {
    ...sources,
    kernel,
    sessions,
    agents: catalog.directory,
    audit: createAuditSink(env.DB),
    principals,
    timing: { ...timing, ...(config.keepNamedMs && { keepNamedMs: config.keepNamedMs }) },
  }
  return {
    session,
    runner: { isolates, clock },
    principal: {
      clock,
      sessions,
      timing: { ...defaultPrincipalTiming, ...timing },
      report: principals.report,
    },
    http: {
      sessions,
      models,
      sources,
      agents: catalog.directory,
      authenticate: createAuthenticator({
        operatorKey: config.operatorKey,
        sha256,
        keys,
        clock,
        logins: createLoginLimit({
          namespace: env.PRINCIPAL,
          sha256,
          clock,
          log: createDeploymentLog(env.DB),
          onFault,
        }),
      }),
      keys: createKeyAdministration({ ...sources, keys }),
      audit: createAuditReader(env.DB),
      givenUp: createGivenUpRuns(env.DB),
      modelReport: createModelReport(env.DB),
      principals,
      database: () => readDatabaseState(env.DB, { clock, timeoutMs: databaseTimeoutMs }),
      readiness: onceReady(async () => {
        if (config.problem) throw config.problem
        const readiness = await readReadiness(env.DB)
        // The table serves the operator's eyes: work does not wait for it to succeed.
        if (readiness.state === 'ready')
          await manifests.syncBundled(loaded.manifests).catch(onFault)
        return readiness
      }),
      version: packageJson.version,
      pluginProblems: () => problems,
      onFault,
      onClientGone: async ({ session: id, run, principal, reader }) => {
        await clock.sleep(goneGraceMs)
        await sessions.at(id).abandon(principal, run, reader)
      },
    },
  }
}

/** A closed `/v1` stream is how chat clients say Stop; a lost connection may come back sooner. */
const goneGraceMs = 10_000

/** The health page waits no longer than this for the database. */
const databaseTimeoutMs = 3_000

/** What no caller sees. The Worker's log is the operator's. */
function onFault(error: unknown, requestId = ''): void {
  // oxlint-disable-next-line no-console
  console.error('fault', requestId, error)
}

/** Asks until the answer is `ready`, then keeps it. */
function onceReady(ask: () => Promise<Readiness>): () => Promise<Readiness> {
  let ready: Readiness | undefined
  return async () => {
    if (ready) return ready
    const answer = await ask()
    if (answer.state === 'ready') ready = answer
    return answer
  }
}
