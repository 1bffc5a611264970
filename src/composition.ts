import { bundledPlugins } from './bundled.gen.ts'
import { isolateModules, isolateVersion, modelModules } from './isolate.gen.ts'
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
import { composeLogins } from './governance/compose-logins.ts'
import { createContent } from './governance/telemetry/content.ts'
import { createLogWriter } from './governance/telemetry/log-writer.ts'
import { createOtlpExporter } from './governance/telemetry/otlp-exporter.ts'
import { createLearnedSecrets, createRedactor } from './governance/redactor.ts'
import { createSealing } from './governance/secrets/sealing.ts'
import { createSecretAdministration } from './governance/secrets/secret-administration.ts'
import { createSecretReader } from './governance/secrets/secret-reader.ts'
import { createStateKey } from './governance/secrets/state-key.ts'
import { createKeyAdministration } from './governance/key-administration.ts'
import { createCostLimits } from './governance/cost-limits.ts'
import { createLimitsOf } from './governance/limits-of.ts'
import { createLivePolicy } from './governance/policy/live-policy.ts'
import { createTrustAdministration } from './governance/trust-administration.ts'
import { createMayBegin } from './governance/may-begin.ts'
import { createPrincipalLedger } from './governance/principal-ledger.ts'
import type { openOAuth as OpenOAuth } from './governance/oauth/compose.ts'
import type { PrincipalRuntime } from './governance/principal-object.ts'
import type { HttpDeps } from './http/deps.ts'
import { fullName } from './http/targets.ts'
import { parallelExecutor } from './kernel/executor.ts'
import { composeKernel } from './kernel/compose.ts'
import { directPlanner, directReflector } from './agents/direct-call.ts'
import { createFinishReflector, modelPlanner } from './agents/model-planner.ts'
import { createMcpRoom } from './mcp/compose.ts'
import type { McpServerRuntime } from './mcp/server-parts.ts'
import { createPromptStore } from './memory/prompt-store.ts'
import { createScratchpad } from './memory/scratchpad.ts'
import { createModelProviders } from './models/model-providers.ts'
import { checkPublicUrl } from './plugins/egress-rules.ts'
import { createFaultReport } from './plugins/fault-report.ts'
import { pluginsOf } from './plugins/generation.ts'
import { toPluginDatabases } from './plugins/granted-database.ts'
import { createHooks } from './plugins/hooks/create-hooks.ts'
import { createLiveHooks } from './plugins/hooks/live-hooks.ts'
import { loadPlugins } from './plugins/in-process-host.ts'
import { createNetworkNow } from './plugins/open-network.ts'
import { createUploadReader } from './plugins/install/upload-reader.ts'
import { createIsolateHost, type PluginRunnerStub } from './plugins/isolate/isolate-host.ts'
import { createIsolateMeter } from './plugins/isolate/isolate-meter.ts'
import type { RunnerParts } from './plugins/isolate/run-call.ts'
import { createCodeSource } from './plugins/isolate/code-source.ts'
import { createIsolates } from './plugins/isolate/worker-code.ts'
import { createPluginLifecycle } from './plugins/lifecycle/lifecycle.ts'
import { createPluginViews } from './plugins/lifecycle/view.ts'
import { createTryOut } from './plugins/lifecycle/try-out.ts'
import { createServerRevocationWatch, createRevocationWatch } from './plugins/revocation-watch.ts'
import type { PluginServiceRuntime } from './plugins/plugin-service.ts'
import { createReplyRedactor } from './plugins/secrets/reply-redactor.ts'
import { createScopedStorage } from './plugins/scoped-storage.ts'
import { toToolEntries } from './plugins/tool-entries.ts'
import { createSpace } from './sessions/storage/space.ts'
import { createSessionGateway } from './sessions/gateway.ts'
import { createAuditSink } from './storage/audit-log.ts'
import { createAuditReader } from './storage/audit-reader.ts'
import { createBundleStore } from './storage/bundles.ts'
import { createDeploymentLog } from './storage/deployment-log.ts'
import { createGivenUpRuns } from './storage/given-up-runs.ts'
import { createKeyStore } from './storage/keys.ts'
import { createManifestStore } from './storage/manifests.ts'
import { createMcpServerStore } from './storage/mcp-servers.ts'
import { createMetricsReport } from './storage/metrics-report.ts'
import { createModelReport } from './storage/model-report.ts'
import { createGrantStore } from './storage/oauth-grants.ts'
import { createPluginStore } from './storage/plugins.ts'
import { createRetention } from './storage/retention.ts'
import { createSecretStore } from './storage/secrets.ts'
import { createSessionIndex } from './storage/session-index.ts'
import { createUsageReport } from './storage/usage-report.ts'
import { createTrustStore } from './storage/trusted-keys.ts'
import { readDatabaseState, readReadiness } from './storage/readiness.ts'
import { version } from '../package.json'

export interface Runtime {
  readonly session: SessionRuntime
  readonly principal: PrincipalRuntime
  readonly http: HttpDeps
  readonly runner: RunnerParts
  readonly catalog: CatalogRuntime
  readonly pluginService: PluginServiceRuntime
  readonly mcpServer: McpServerRuntime
  /** What is to be done once a day. Never throws. */
  readonly daily: () => Promise<void>
}

/** What only the Worker's entry module can reach. */
export interface Platform {
  /** This deployment's own `PluginRunner`. */
  readonly runner?: () => PluginRunnerStub
  readonly openOAuth?: typeof OpenOAuth
}

/** Builds the runtime from bindings: leaves first, then what uses them. Wiring only, no decisions. */
export function composeRuntime(
  env: Env,
  sources: Sources = systemSources,
  timing: SessionTiming & Partial<PrincipalTiming> = defaultTiming,
  { runner, openOAuth }: Platform = {},
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
    // Whoever develops reads in the terminal what a server said; on a deployment the record has it.
    ...(config.isDevelopment && { onFailed: (failure) => onFault(failure) }),
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
    meter: createIsolateMeter({
      priceNanoUsd: config.isolatePriceNanoUsd,
      clock,
      sessions,
      scopedStorage,
    }),
    isDevelopment: config.isDevelopment,
    network: createNetworkNow({ ...installed, ...config }),
    ...(runner && isolates && { modelCode: { runner, sha256, shimVersion: isolateVersion } }),
    databases: toPluginDatabases(config.sqlDatabases, env),
    readSecrets: createSecretReader(secrets),
    ids: sources.ids,
    validator,
    scopedStorage,
    sleep: clock.sleep,
    fetch: (url: string, init: RequestInit) => fetch(url, init),
    createMemory: (storage: Parameters<typeof createScratchpad>[0]['storage']) =>
      createScratchpad({ storage, buildIndex: createSearchIndex }),
    watchRevocation: createRevocationWatch({ snapshot: installed.snapshot, clock }),
    faults: createFaultReport(installed.report),
  }
  const spaceIn = (storage: DurableObjectStorage) => createSpace(storage, clock)
  const outputs = createOutputStore(sessions)
  const deploymentLog = createDeploymentLog(env.DB)
  const hooks = createLiveHooks(() => agents.now())
  const outputTool = createOutputTool(sessions)
  const bundledIds = () => new Set(agents.current().manifests.map(({ id }) => id))
  const mcp = createMcpRoom({
    namespace: env.MCP_SERVER,
    store: createMcpServerStore(env.DB),
    bundles,
    clock,
    sha256,
    validator,
    version,
    readSecrets: capabilities.readSecrets,
    sealing: secrets.sealing,
    learn: learned.learn,
    redactorOf: (values) => createReplyRedactor(values).text,
    secret: () => sources.ids.next('login'),
    fetch: capabilities.fetch,
    checkUrl: (url) => checkPublicUrl(url, config),
    watchRevocation: createServerRevocationWatch({ snapshot: installed.snapshot, clock }),
    bundledIds,
    log: deploymentLog,
    onFault,
  })
  const wire = (snapshot: PluginSnapshot) => {
    const { plugins, problems } = pluginsOf(bundledPlugins, snapshot)
    const loaded = loadPlugins(plugins, { validator, isolates: isolateHost })
    const remote = mcp.wire(
      snapshot,
      loaded.plugins.map(({ manifest }) => manifest.id),
    )
    const catalog = createAgentDirectory({
      plugins: loaded.plugins.map((plugin) => ({
        ...plugin,
        tools: toToolEntries(plugin, capabilities),
      })),
      servers: remote.servers,
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
      problems: [
        ...problems,
        ...loaded.problems,
        ...loaded.warnings,
        ...remote.problems,
        ...catalog.problems,
      ],
    }
  }
  const agents = createLiveDirectory({
    snapshot: installed.snapshot,
    lastKnown: installed.lastKnown,
    initial: emptySnapshot,
    onFault,
    build: wire,
  })
  const lifecycle = createPluginLifecycle({
    store,
    bundles,
    clock,
    bundledIds,
    servers: mcp.decisions,
    signers: async () => (await trust.list()).map(({ name }) => name),
    tryOut: createTryOut({ wire, isolates: isolateHost }),
  })
  const allowed = createLivePolicy({ ...installed, ...config, takeRate: principals.takeRate })
  const gates: GateParts = { ...allowed, validator, outputs, hooks: hooks.tools }
  const kernel = composeKernel({
    ...sources,
    models: models.provider,
    planner: hooks.around(modelPlanner),
    executor: parallelExecutor,
    reflector: createFinishReflector(validator),
    direct: { planner: hooks.around(directPlanner), reflector: directReflector },
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
          version,
          redact,
          clock,
          fetch: (input, init) => fetch(input, init),
          ...(capturesContent && { content: createContent(redact) }),
        })
  const logins = composeLogins({
    ...sources,
    operatorKey: config.operatorKey,
    keys,
    namespace: env.PRINCIPAL,
    log: deploymentLog,
    onFault,
    openOAuth: openOAuth?.({
      ...sources,
      kv: env.OAUTH_KV,
      config,
      keys,
      grants: createGrantStore(env.DB),
      log: deploymentLog,
      takeRate: principals.takeRate,
      fetch: (url, init) => fetch(url, init),
      randomBytes: secureBytes,
      onFault,
    }),
  })
  const session: SessionRuntime = {
    ...sources,
    kernel,
    sessions,
    agents: agents.directory,
    audit: createAuditSink(env.DB),
    principals,
    mayBegin: createMayBegin({
      keys,
      grants: createGrantStore(env.DB),
      people: config.oidc?.people ?? [],
      clock,
      fullNameOf: (model) => fullName(models, model),
    }),
    onSessionEnded: hooks.sessionEnded,
    timing: { ...timing, ...(config.keepNamedMs && { keepNamedMs: config.keepNamedMs }) },
    ...(telemetry && { telemetry }),
  }
  return {
    session,
    runner: { isolates, clock },
    catalog: { ...lifecycle, ...createPluginViews(store), clock },
    pluginService: { createSpace: spaceIn },
    mcpServer: mcp.runtime,
    daily: inTurn(
      createRetention({
        database: env.DB,
        clock,
        ...(config.keepAuditMs !== undefined && { keepAuditMs: config.keepAuditMs }),
        keep: session.timing,
        tell: principals.tell,
      }),
      logins.oauth?.daily,
    ),
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
      mcp: mcp.administration(installed, agents.directory.toolNames),
      bundles,
      purgePlugin: async (id) => scopedStorage.clear(id, await keys.principals()),
      deploymentLog,
      readUpload: createUploadReader({
        trust,
        fetch: (archive, init) => fetch(archive, init),
        isDevelopment: config.isDevelopment,
        clock,
        sha256,
        known: async () => (await installed.list()).map(({ id }) => id),
      }),
      ...logins,
      keys: createKeyAdministration({ ...sources, keys }),
      trust: createTrustAdministration({ clock, sha256, store: trust }),
      secrets: createSecretAdministration({ ...secrets, clock, rotateOthers: mcp.rotate }),
      secretProblem: secrets.sealing.problem,
      audit: createAuditReader(env.DB),
      sessionIndex: createSessionIndex(env.DB),
      givenUp: createGivenUpRuns(env.DB),
      modelReport,
      metrics: createMetricsReport(env.DB, modelReport),
      usage: createUsageReport(env.DB),
      principals,
      costLimits: createCostLimits({ defaults: config.dailyLimits, keys, clock }),
      database: () => readDatabaseState(env.DB, { clock, timeoutMs: databaseTimeoutMs }),
      readiness: onceReady(async () => {
        if (config.problem) throw config.problem
        const readiness = await readReadiness(env.DB)
        // The table serves the operator's eyes: work does not wait for it to succeed.
        if (readiness.state === 'ready')
          await manifests
            .syncBundled(agents.current().manifests)
            .catch((error: unknown) => onFault(error))
        return readiness
      }),
      version,
      isDevelopment: config.isDevelopment,
      hosts: config.hosts,
      stateKey: createStateKey(config.masterKeys, { ...secrets, sha256 }),
      pluginProblems: () => agents.current().problems,
      onFault,
      ...(log.request && { onRequest: log.request }),
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

/** One after the other. */
function inTurn(...jobs: readonly ((() => Promise<void>) | undefined)[]): () => Promise<void> {
  return async () => {
    for (const job of jobs) await job?.()
  }
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
