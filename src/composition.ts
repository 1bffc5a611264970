import { bundledPlugins } from './bundled.gen.ts'
import { isolateModules, isolateVersion, modelModules, stripModules } from './isolate.gen.ts'
import { createAgentDirectory } from './agents/agent-directory.ts'
import { createLiveDirectory } from './agents/live-directory.ts'
import { createCatalogGateway, emptySnapshot } from './catalog/catalog-gateway.ts'
import type { CatalogRuntime } from './catalog/catalog-object.ts'
import { createOutputStore, createOutputTool } from './catalog/output-tool.ts'
import { withOutsideTools } from './catalog/outside-tools.ts'
import { createSchemaValidator } from './catalog/schema-validator.ts'
import { createSearchIndex } from './catalog/search/search-index.ts'
import { createToolset } from './catalog/toolset.ts'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { Readiness } from '#contracts/operations.ts'
import { defaultPrincipalTiming, type PrincipalTiming } from '#contracts/principal.ts'
import {
  defaultTiming,
  type GateParts,
  type SessionRuntime,
  type SessionTiming,
} from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'
import { parseConfig } from './settings.ts'
import { secureBytes, systemSources } from './sources.ts'
import { createAuthenticator } from './governance/authenticator.ts'
import { createContent } from './governance/telemetry/content.ts'
import { createLogWriter } from './governance/telemetry/log-writer.ts'
import { createOtlpExporter } from './governance/telemetry/otlp-exporter.ts'
import { createLearnedSecrets, createRedactor } from './governance/redactor.ts'
import { createSealing } from './governance/secrets/sealing.ts'
import { createSecretAdministration } from './governance/secrets/secret-administration.ts'
import { createSecretReader } from './governance/secrets/secret-reader.ts'
import { createKeyAdministration } from './governance/key-administration.ts'
import { createLimitsOf } from './governance/limits-of.ts'
import { createLoginLimit } from './governance/login-limit.ts'
import { createLivePolicy } from './governance/policy/live-policy.ts'
import { createTrustAdministration } from './governance/trust-administration.ts'
import { createPrincipalLedger } from './governance/principal-ledger.ts'
import type { PrincipalRuntime } from './governance/principal-object.ts'
import type { HttpDeps } from './http/deps.ts'
import { parallelExecutor } from './kernel/executor.ts'
import { createKernel } from './kernel/run.ts'
import { finishReflector, modelPlanner } from './agents/model-planner.ts'
import { createPromptStore } from './memory/prompt-store.ts'
import { createScratchpad } from './memory/scratchpad.ts'
import { createModelProviders } from './models/model-providers.ts'
import { createFaultReport } from './plugins/fault-report.ts'
import { pluginsOf } from './plugins/generation.ts'
import { toPluginDatabases } from './plugins/granted-database.ts'
import { createHooks } from './plugins/hooks/create-hooks.ts'
import { createLiveHooks } from './plugins/hooks/live-hooks.ts'
import { loadPlugins } from './plugins/in-process-host.ts'
import { createUploadReader } from './plugins/install/upload-reader.ts'
import { createIsolateHost, type PluginRunnerStub } from './plugins/isolate/isolate-host.ts'
import type { RunnerParts } from './plugins/isolate/run-call.ts'
import { createCodeSource } from './plugins/isolate/code-source.ts'
import { createIsolates, createStripper } from './plugins/isolate/worker-code.ts'
import { createPluginLifecycle } from './plugins/lifecycle/lifecycle.ts'
import { createPluginViews } from './plugins/lifecycle/view.ts'
import { createTryOut } from './plugins/lifecycle/try-out.ts'
import { createTakeLeave } from './plugins/standing.ts'
import type { PluginServiceRuntime } from './plugins/plugin-service.ts'
import { createScopedStorage } from './plugins/scoped-storage.ts'
import { toToolEntries } from './plugins/tool-entries.ts'
import { createSpace } from './sessions/space.ts'
import { createSessionGateway } from './sessions/gateway.ts'
import { createAuditReader, createAuditSink } from './storage/audit-log.ts'
import { createBundleStore } from './storage/bundles.ts'
import { createDeploymentLog } from './storage/deployment-log.ts'
import { createGivenUpRuns } from './storage/given-up-runs.ts'
import { createKeyStore } from './storage/keys.ts'
import { createManifestStore } from './storage/manifests.ts'
import { createMetricsReport } from './storage/metrics-report.ts'
import { createModelReport } from './storage/model-report.ts'
import { createPluginStore } from './storage/plugins.ts'
import { createRetention } from './storage/retention.ts'
import { createSecretStore } from './storage/secrets.ts'
import { createSessionIndex } from './storage/session-index.ts'
import { createTrustStore } from './storage/trusted-keys.ts'
import { readDatabaseState, readReadiness } from './storage/readiness.ts'
import packageJson from '../package.json' with { type: 'json' }

export interface Runtime {
  readonly session: SessionRuntime
  readonly principal: PrincipalRuntime
  readonly http: HttpDeps
  readonly runner: RunnerParts
  readonly catalog: CatalogRuntime
  readonly pluginService: PluginServiceRuntime
  /** What is to be done once a day. Never throws. */
  readonly daily: () => Promise<void>
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
  const learned = createLearnedSecrets()
  const redact = createRedactor(config.secrets, learned)
  const log = createLogWriter({ level: config.logLevel, redact, clock, write: writeLine })
  const onFault = log.fault
  const manifests = createManifestStore(env.DB, clock)
  const sessions = createSessionGateway({ namespace: env.SESSION, sha256 })
  const keys = createKeyStore(env.DB)
  const secrets = {
    secrets: createSecretStore(env.DB),
    sealing: createSealing(config.masterKeys, { sha256, randomBytes: secureBytes }),
    learn: learned.learn,
  }
  const limitsOf = createLimitsOf({ defaults: config.dailyLimits, keys, clock })
  const principals = createPrincipalLedger({ namespace: env.PRINCIPAL, sha256, clock, limitsOf })
  const models = createModelProviders(config.models, {
    fetch: (input, init) => fetch(input, init),
    sleep: clock.sleep,
    nowMs: clock.nowMs,
    buildIndex: createSearchIndex,
    ai: env.AI,
  })
  const modelReport = createModelReport(env.DB)
  const validator = createSchemaValidator()
  const bundles = createBundleStore({ database: env.DB, namespace: env.KV, sha256 })
  const store = createPluginStore(env.DB)
  const trust = createTrustStore(env.DB)
  const installed = createCatalogGateway({ namespace: env.CATALOG, sha256, clock })
  const isolates = createIsolates({
    loader: env.LOADER,
    shim: { modules: isolateModules, modelModules, version: isolateVersion },
    codeOf: createCodeSource(bundledPlugins, bundles),
  })
  const isolateHost =
    runner && isolates && createIsolateHost({ runner, sha256, shimVersion: isolateVersion })
  const scopedStorage = createScopedStorage({
    principals: env.PRINCIPAL,
    services: env.PLUGIN_SERVICE,
    sha256,
  })
  const capabilities = {
    sessions,
    isDevelopment: config.isDevelopment,
    ...(runner && isolates && { modelCode: { runner, sha256, shimVersion: isolateVersion } }),
    databases: toPluginDatabases(config.sqlDatabases, env),
    sha256,
    readSecrets: createSecretReader(secrets),
    scopedStorage,
    sleep: clock.sleep,
    fetch: (url: string, init: RequestInit) => fetch(url, init),
    createMemory: (storage: Parameters<typeof createScratchpad>[0]['storage']) =>
      createScratchpad({ storage, buildIndex: createSearchIndex }),
    takeLeave: createTakeLeave({ snapshot: installed.snapshot, clock }),
    faults: createFaultReport(installed.report),
  }
  const spaceIn = (storage: DurableObjectStorage) => createSpace(storage, clock)
  const outputs = createOutputStore(sessions)
  const deploymentLog = createDeploymentLog(env.DB)
  const hooks = createLiveHooks(() => agents.now().then((wired) => wired.hooks))
  const outputTool = createOutputTool(sessions)
  const wire = (snapshot: PluginSnapshot) => {
    const { plugins, problems } = pluginsOf(bundledPlugins, snapshot)
    const loaded = loadPlugins(plugins, { validator, isolates: isolateHost })
    const catalog = createAgentDirectory({
      plugins: loaded.plugins.map((plugin) => ({
        ...plugin,
        tools: toToolEntries(plugin, capabilities),
      })),
      prompts: createPromptStore(),
      sessions,
      clock,
      onSubAgentStopped: hooks.subAgentStopped,
      createToolset: (entries, options) =>
        createToolset(entries, { ...options, buildIndex: createSearchIndex, more: [outputTool] }),
      withOutside: withOutsideTools,
    })
    return {
      ...loaded,
      hooks: createHooks(loaded.plugins, {
        capabilities,
        clock,
        maxResultChars: outputs.maxChars,
        traceId: sources.ids.traceId,
        record: (event) => deploymentLog.append(event).catch((error: unknown) => onFault(error)),
      }),
      directory: catalog.directory,
      problems: [...problems, ...loaded.problems, ...loaded.warnings, ...catalog.problems],
    }
  }
  const agents = createLiveDirectory({
    snapshot: installed.snapshot,
    lastKnown: installed.lastKnown,
    build: wire,
  })
  const bundled = wire(emptySnapshot).manifests
  const lifecycle = createPluginLifecycle({
    store,
    bundles,
    clock,
    bundledIds: new Set(bundled.map(({ id }) => id)),
    tryOut: createTryOut({ wire, isolates: isolateHost }),
    purge: async (id) => scopedStorage.clear(id, await keys.principals()),
  })
  const allowed = createLivePolicy({ ...installed, takeRate: principals.takeRate })
  const gates: GateParts = { ...allowed, validator, outputs, hooks: hooks.tools }
  const kernel = createKernel({
    ...sources,
    models: models.provider,
    planner: hooks.around(modelPlanner),
    executor: parallelExecutor,
    reflector: finishReflector,
    gates,
  })
  const { url, headers, serviceName, capturesContent } = config.otlp
  const telemetry =
    url === undefined
      ? undefined
      : createOtlpExporter({
          url,
          headers,
          serviceName,
          version: packageJson.version,
          redact,
          clock,
          sha256,
          fetch: (input, init) => fetch(input, init),
          ...(capturesContent && { content: createContent(kernel.messagesOf, redact) }),
        })
  const session: SessionRuntime = {
    ...sources,
    kernel,
    sessions,
    agents: agents.directory,
    audit: createAuditSink(env.DB),
    principals,
    onSessionEnded: hooks.sessionEnded,
    timing: { ...timing, ...(config.keepNamedMs && { keepNamedMs: config.keepNamedMs }) },
    ...(telemetry && { telemetry }),
  }
  return {
    session,
    runner: { isolates, clock },
    catalog: { ...lifecycle, ...createPluginViews(store), clock },
    pluginService: { createSpace: spaceIn },
    daily: createRetention({
      database: env.DB,
      clock,
      ...(config.keepAuditMs !== undefined && { keepAuditMs: config.keepAuditMs }),
      keep: session.timing,
      tell: principals.tell,
    }),
    principal: {
      createSpace: spaceIn,
      clock,
      sessions,
      timing: {
        ...defaultPrincipalTiming,
        ...(config.keepUsageDays && { keepUsageDays: config.keepUsageDays }),
        ...timing,
      },
      report: principals.report,
    },
    http: {
      sessions,
      models,
      sources,
      agents: agents.directory,
      refreshAgents: agents.refresh,
      plugins: installed,
      bundles,
      readUpload: createUploadReader({
        trust,
        strip: createStripper(env.LOADER, stripModules),
        fetch: (archive, init) => fetch(archive, init),
        isDevelopment: config.isDevelopment,
        clock,
        sha256,
        known: async () => (await installed.list()).map(({ id }) => id),
      }),
      authenticate: createAuthenticator({
        operatorKey: config.operatorKey,
        sha256,
        keys,
        clock,
        logins: createLoginLimit({
          namespace: env.PRINCIPAL,
          sha256,
          clock,
          log: deploymentLog,
          onFault,
        }),
      }),
      keys: createKeyAdministration({ ...sources, keys }),
      trust: createTrustAdministration({ clock, sha256, store: trust }),
      secrets: createSecretAdministration({ ...secrets, clock }),
      secretProblem: secrets.sealing.problem,
      audit: createAuditReader(env.DB),
      sessionIndex: createSessionIndex(env.DB),
      givenUp: createGivenUpRuns(env.DB),
      modelReport,
      metrics: createMetricsReport(env.DB, modelReport),
      principals,
      database: () => readDatabaseState(env.DB, { clock, timeoutMs: databaseTimeoutMs }),
      readiness: onceReady(async () => {
        if (config.problem) throw config.problem
        const readiness = await readReadiness(env.DB)
        // The table serves the operator's eyes: work does not wait for it to succeed.
        if (readiness.state === 'ready')
          await manifests.syncBundled(bundled).catch((error: unknown) => onFault(error))
        return readiness
      }),
      version: packageJson.version,
      pluginProblems: () => agents.current().problems,
      onFault,
      onRequest: log.request,
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

/** The Worker's log, which is the operator's. */
function writeLine(level: 'error' | 'info', line: string): void {
  // oxlint-disable-next-line no-console
  console[level](line)
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
