import { archiveReader } from './archive-reader.gen.ts'
import { bundledPlugins } from './bundled.gen.ts'
import { inTurn } from './in-turn.ts'
import { isolateModules, isolateVersion, modelModules } from './isolate.gen.ts'
import { composeAgents, composeThinking } from './agents/compose.ts'
import { composeCatalog } from './catalog/compose.ts'
import { readOutputName } from './catalog/output-tool.ts'
import type { CatalogRuntime } from './catalog/catalog-object.ts'
import { createContextBuilder } from './context/context-builder.ts'
import { createContextFitter } from './context/context-fitter.ts'
import { createContextReader } from './context/context-reader.ts'
import { defaultPrincipalTiming, type PrincipalTiming } from '#contracts/principal.ts'
import { defaultTiming, type SessionRuntime, type SessionTiming } from '#contracts/runtime.ts'
import type { Sources } from '#contracts/sources.ts'
import { composeGovernance, type GovernanceParts } from './governance/compose.ts'
import type { openOAuth as OpenOAuth } from './governance/oauth/compose.ts'
import type { PrincipalRuntime } from './governance/principal-object.ts'
import { composeHttp, fullNameIn } from './http/compose.ts'
import type { HttpDeps } from './http/deps.ts'
import { createToldClients } from './http/mcp/told-clients.ts'
import { composeKernel } from './kernel/compose.ts'
import { composeMcp } from './mcp/compose.ts'
import type { McpServerRuntime } from './mcp/server-parts.ts'
import { composeMemory } from './memory/compose.ts'
import { composeModels } from './models/compose.ts'
import { composeOutbound } from './outbound/compose.ts'
import { composePlugins } from './plugins/compose.ts'
import type { PluginRunnerStub } from './plugins/sandbox/isolate-host.ts'
import type { RunnerParts } from './plugins/sandbox/run-call.ts'
import type { PluginServiceRuntime } from './plugins/capabilities/storage/plugin-service.ts'
import { composeSessions } from './sessions/compose.ts'
import { parseConfig } from './settings.ts'
import { bundledSkills } from './skills.gen.ts'
import { composeSkills } from './skills/compose.ts'
import { keyedHash, secureBytes, systemSources, writeLine } from './sources.ts'
import { createReadAsset } from './storage/assets.ts'
import { composeStorage } from './storage/compose.ts'
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
  platform: Platform = {},
): Runtime {
  const rooms = composeRooms(env, sources, platform)
  const { config, storage, sessions, governance, plugins, agents, catalog } = rooms
  const { principals, logins } = governance
  const { createSpace, gateway } = sessions
  const { keepNamedMs, keepAuditMs, keepUsageDays } = config
  const kept = { ...timing, ...(keepNamedMs && { keepNamedMs }) }
  return {
    session: {
      ...sources,
      ...storage,
      ...rooms.session,
      sessions: gateway,
      agents: agents.directory,
      principals,
      mayBegin: governance.mayBegin,
      held: principals,
      onSessionEnded: inTurn(rooms.hooks.sessionEnded, rooms.mcp.sessionEnded),
      onCatalogSilent: catalog.installed.heardOfSilence,
      timing: kept,
      ...(governance.telemetry && { telemetry: governance.telemetry }),
    },
    runner: { isolates: plugins.isolates, clock: sources.clock },
    catalog: {
      ...rooms.lifecycle,
      ...catalog.objectParts,
      principals: async () => (await storage.keys.principals()).length,
      wire: rooms.agents.wire,
    },
    pluginService: { createSpace },
    mcpServer: rooms.mcp.runtime,
    daily: inTurn(
      storage.retention({
        ...(keepAuditMs !== undefined && { keepAuditMs }),
        keep: kept,
        collect: catalog.installed.collect,
        tell: principals.tell,
      }),
      logins.oauth?.daily,
    ),
    principal: {
      ...sessions,
      ...rooms.memory,
      clock: sources.clock,
      sessions: gateway,
      timing: { ...defaultPrincipalTiming, ...(keepUsageDays && { keepUsageDays }), ...timing },
      report: principals.report,
      stateOf: governance.credentialState,
    },
    http: composeSurfaces(rooms, sources),
  }
}

/** What the surfaces translate to. */
function composeSurfaces(rooms: Rooms, sources: Sources): HttpDeps {
  const { config, storage, sessions, catalog, governance, models, plugins, mcp, agents } = rooms
  const { log, logins, principals } = governance
  return composeHttp({
    ...storage.reports,
    ...logins,
    ...governance.administration,
    version,
    sources,
    limits: governance.limits,
    isDevelopment: config.isDevelopment,
    hosts: config.hosts,
    sessions: sessions.gateway,
    entry: sessions.entry,
    models,
    readImage: models.takesAddresses ? undefined : rooms.common.readImage,
    principals,
    memory: rooms.memory.longTerm,
    agents: agents.directory,
    refreshAgents: agents.refresh,
    pluginProblems: async () => [
      ...agents.current().problems,
      // What is loaded by name is known there; while it does not answer, that is said elsewhere.
      ...(await catalog.installed.problems().catch(() => [])),
    ],
    plugins: catalog.installed,
    mcp: mcp.administration(catalog.installed, () => agents.directory.toolNames(['*'])),
    deploymentLog: storage.deploymentLog,
    approvalRules: storage.approvalRules,
    readUpload: plugins.readUpload,
    readAsset: rooms.readAsset,
    skills: rooms.skills,
    purgePlugin: async (id) => plugins.scopedStorage.clear(id, await storage.keys.principals()),
    toldClients: createToldClients(plugins.scopedStorage.ofPrincipal, sources.clock),
    configProblem: config.problem,
    readReadiness: storage.readiness,
    onReady: () =>
      storage.manifests.syncBundled(agents.current().manifests).catch((error) => log.fault(error)),
    onFault: log.fault,
    ...(log.request && { onRequest: log.request }),
  })
}

type Rooms = ReturnType<typeof composeRooms>

/** The parts of every room, leaves first. What is wrapped in a function is made later than who asks for it. */
function composeRooms(env: Env, sources: Sources, { runner, openOAuth }: Platform) {
  const base = composeBase(env, sources, {
    openOAuth,
    rotateOthers: () => work.memory.rotate(work.mcp.rotate),
  })
  const work = composeWork({ env, sources, runner, ...base })
  return { ...base, ...work }
}

/** What the work of an agent stands on: records, sessions, who may do what, models. */
function composeBase(
  env: Env,
  sources: Sources,
  more: Pick<GovernanceParts, 'openOAuth' | 'rotateOthers'>,
) {
  const config = parseConfig(env)
  const outbound = composeOutbound({ ...sources, config })
  const shared = { ...sources, ...outbound, config, version }
  const storage = composeStorage({ ...shared, database: env.DB, namespace: env.KV })
  const sessions = composeSessions({
    ...sources,
    namespace: env.SESSION,
    usage: (...asked) => governance.principals.usage(...asked),
    isCatalogSilent: () => catalog.installed.isSilent(),
  })
  const { gateway } = sessions
  const catalog = composeCatalog({
    ...sources,
    ...storage,
    namespace: env.CATALOG,
    config,
    store: storage.plugins,
    sessions: gateway,
  })
  const { installed, validator, buildIndex } = catalog
  const governance = composeGovernance({
    ...shared,
    stores: storage,
    installed,
    namespace: env.PRINCIPAL,
    deployment: storage.deployment,
    counters: {
      strangers: env.STRANGER_LIMIT,
      requests: env.REQUEST_LIMIT,
      sessions: env.SESSION_LIMIT,
    },
    kv: env.OAUTH_KV,
    ...more,
    randomBytes: secureBytes,
    write: writeLine,
    fullNameOf: fullNameIn(() => models),
  })
  const { readSecrets, log } = governance
  const told = { log: storage.deploymentLog, onFault: log.fault }
  const common = { ...shared, ...told, validator, readSecrets }
  const models = composeModels({ ...common, ai: env.AI, buildIndex })
  const readAsset = createReadAsset(env.ASSETS)
  return { config, storage, sessions, catalog, governance, models, readAsset, common }
}

interface WorkParts extends ReturnType<typeof composeBase> {
  readonly env: Env
  readonly sources: Sources
  readonly runner: Platform['runner'] | undefined
}

/** What an agent works with: plugins, remote servers, the agents themselves, the loop. */
function composeWork(parts: WorkParts) {
  const { env, sources, common, storage, sessions, catalog, governance, readAsset } = parts
  const { installed, validator, outputs, buildIndex } = catalog
  const { provider: models, count } = parts.models
  const [{ gateway }, { bundles }] = [sessions, storage]
  const keys = { ...storage, sealing: governance.sealing, keyedHash, randomBytes: secureBytes }
  const memory = composeMemory({ ...sources, ...keys, ...catalog.words, namespace: env.PRINCIPAL })
  const skills = composeSkills({ ...sources, readAsset, asset: bundledSkills, buildIndex, count })
  const plugins = composePlugins({
    ...common,
    installed,
    bundles,
    bundled: bundledPlugins,
    trust: storage.trust,
    loader: env.LOADER,
    readAsset,
    reader: archiveReader,
    runner: parts.runner,
    shim: { modules: isolateModules, modelModules, version: isolateVersion },
    sessions: gateway,
    ...memory,
    principals: env.PRINCIPAL,
    services: env.PLUGIN_SERVICE,
    bindings: env,
    maxResultChars: outputs.maxChars,
  })
  const bundledIds = () => new Set(agents.current().manifests.map(({ id }) => id))
  const mcp = composeMcp({
    ...common,
    bundles,
    bundledIds,
    sealing: governance.sealing,
    learn: governance.learn,
    namespace: env.MCP_SERVER,
    store: storage.mcpServers,
    redactorOf: plugins.redactorOf,
    secret: () => sources.ids.next('login'),
    watchRevocation: plugins.watchServer,
  })
  const hooks = plugins.liveHooks(() => agents.now())
  const agents = composeAgents({
    ...common,
    ...catalog,
    createToolset: catalog.toolsets({ skills, deniedOf: governance.policy.deniedOf }),
    defaultModel: common.config.models.defaultModel,
    sessions: gateway,
    submitAs: sessions.entry.submitAs,
    createPrompts: memory.createPrompts,
    count,
    persona: skills.persona,
    load: plugins.load,
    wireServers: mcp.wire,
    onSubAgentStopped: hooks.subAgentStopped,
  })
  const tryOut = plugins.tryOut(agents.wire)
  const lifecycle = catalog.lifecycle({ tryOut, servers: mcp.decisions, bundledIds })
  const { answers } = governance
  const thinking = composeThinking((planner) => answers.around(hooks.around(planner)), validator)
  const gates = { ...governance.policy, validator, outputs, hooks: hooks.tools }
  const builder = createContextBuilder({ count, readTool: readOutputName })
  const context = createContextFitter({ ...sources, ...hooks, builder, models, outputs })
  const guarded = { ...thinking, models: answers.behind(models) }
  const session = {
    kernel: composeKernel({ ...sources, ...guarded, gates, context }),
    context: createContextReader({ builder, count, models }),
    memory: memory.around({ countTokens: count.ofText, ...common }),
  }
  return { skills, plugins, mcp, agents, hooks, lifecycle, session, memory }
}
