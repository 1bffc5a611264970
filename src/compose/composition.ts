import { archiveReader } from '../archive-reader.gen.ts'
import { bundledPlugins } from '../bundled.gen.ts'
import { inTurn, composeTriggers, type Triggers } from './triggers.ts'
import { isolateModules, isolateVersion, modelModules } from '../isolate.gen.ts'
import { composeBase } from './composition-base.ts'
import { composeAgents, composeThinking } from '#features/agents/compose.ts'
import { readOutputName } from '#runtime/catalog/output-tool.ts'
import type { CatalogRuntime } from '#runtime/catalog/catalog-object.ts'
import { createContextBuilder } from '#runtime/context/context-builder.ts'
import { createContextFitter } from '#runtime/context/context-fitter.ts'
import { createContextReader } from '#runtime/context/context-reader.ts'
import { defaultPrincipalTiming, type PrincipalTiming } from '#runtime/session/types/principal.ts'
import type { AskProvider } from '#contracts/provider.ts'
import {
  defaultTiming,
  type SessionRuntime,
  type SessionTiming,
} from '#runtime/session/types/runtime.ts'
import type { Sources } from '#contracts/sources.ts'
import { createToldAnswers } from '#features/policy/answers/told-answers.ts'
import type { openOAuth as OpenOAuth } from './sign-in.ts'
import { composeErasures } from '#features/record/erasure/erasures.ts'
import type { PrincipalRuntime } from './principal-object.ts'
import { composeHttp } from '#surfaces/http/compose.ts'
import type { AppDeps } from '#surfaces/http/app.ts'
import { createToldClients } from '#surfaces/mcp/told-clients.ts'
import { composeKernel } from '#runtime/kernel/compose.ts'
import { composeMcp } from '#features/mcp-servers/compose.ts'
import type { McpServerRuntime } from '#features/mcp-servers/server-parts.ts'
import { composeMemory } from '#features/memory/compose.ts'
import { composePlugins } from '#features/plugins/compose.ts'
import type { PluginRunnerStub } from '#features/plugins/sandbox/isolate-host.ts'
import type { RunnerParts } from '#features/plugins/sandbox/run-call.ts'
import type { PluginServiceRuntime } from '#features/plugins/capabilities/storage/plugin-service.ts'
import type { RouteDeps } from '../routes.gen.ts'
import { bundledSkills } from '../skills.gen.ts'
import { composeSkills } from '#features/skills/compose.ts'
import { keyedHash, secureBytes, systemSources } from './sources.ts'
import { version } from '../../package.json'

export interface Runtime extends Triggers {
  readonly session: SessionRuntime
  readonly principal: PrincipalRuntime
  readonly http: AppDeps & RouteDeps
  readonly runner: RunnerParts
  readonly catalog: CatalogRuntime
  readonly pluginService: PluginServiceRuntime
  readonly mcpServer: McpServerRuntime
}

/** Parts that only the Worker's entry module can reach. */
export interface Platform {
  /** This deployment's own `PluginRunner`. */
  readonly runner?: () => PluginRunnerStub
  readonly openOAuth?: typeof OpenOAuth
  readonly waitUntil?: (work: Promise<unknown>) => void
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
  const { createSpace, gateway } = sessions
  const { keepNamedMs, keepDraftsMs, keepUsageDays } = config
  const kept = { ...timing, keepDraftsMs, ...(keepNamedMs && { keepNamedMs }) }
  const objects = { createSpace, createSchedules: rooms.schedules.createHost }
  return {
    session: {
      ...sources,
      ...rooms.session,
      audit: storage.audit,
      approvalRules: storage.approvalRules,
      deployment: storage.deployment,
      sessions: gateway,
      agents: agents.directory,
      principals: governance.principals,
      ...governance.ofRuns,
      held: governance.principals,
      events: rooms.schedules.events,
      onSessionEnded: inTurn(rooms.hooks.sessionEnded, rooms.mcp.sessionEnded),
      timing: kept,
      ...(governance.telemetry && { telemetry: governance.telemetry }),
    },
    runner: { isolates: plugins.isolates, clock: sources.clock },
    catalog: {
      ...rooms.lifecycle,
      ...catalog.objectParts,
      principals: async () => (await storage.keys.principals()).length,
      wire: rooms.agents.wire,
      searchSkills: rooms.skills.search,
    },
    pluginService: objects,
    mcpServer: rooms.mcp.runtime,
    ...composeTriggers(rooms, kept),
    principal: {
      ...objects,
      createMeter: sessions.createMeter,
      createNotes: rooms.memory.createNotes,
      createDocuments: rooms.memory.createDocuments,
      clock: sources.clock,
      sessions: gateway,
      timing: { ...defaultPrincipalTiming, ...(keepUsageDays && { keepUsageDays }), ...timing },
      report: governance.principals.report,
      stateOf: governance.credentialState,
      erase: () => rooms.erasures.work(),
    },
    http: composeSurfaces(rooms, sources, platform.waitUntil),
  }
}

/** The dependencies of the surfaces. */
function composeSurfaces(
  rooms: Rooms,
  sources: Sources,
  keepAlive: Platform['waitUntil'],
): AppDeps & RouteDeps {
  const { config, storage, sessions, catalog, governance, models, plugins, mcp, agents } = rooms
  const { log, logins, principals } = governance
  const deps = {
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
    readImage: models.takesAddresses ? undefined : rooms.common.openImageReader(plugins.openHosts),
    principals,
    schedules: {
      find: storage.schedules.find,
      list: storage.schedules.list,
      syncPlugins: rooms.schedules.syncPlugins,
      ofAgents: rooms.schedules.ofAgents,
      glance: rooms.schedules.glance,
      ...rooms.schedules.gateway,
    },
    memory: rooms.memory.longTerm,
    knowledge: rooms.memory.knowledge,
    erasures: rooms.erasures,
    agents: agents.directory,
    storedAgents: agents.administration,
    refreshAgents: agents.refresh,
    pluginProblems: async () => [
      ...agents.last().problems,
      // The catalog knows the problems of extensions that are loaded by name; another line reports that it does not
      // answer.
      ...(await catalog.installed.problems().catch(() => [])),
    ],
    plugins: catalog.installed,
    mcp: mcp.administration(catalog.installed, () => agents.directory.toolNames(['*'])),
    deploymentLog: storage.deploymentLog,
    approvalRules: storage.approvalRules,
    readUpload: plugins.readUpload,
    readAsset: rooms.readAsset,
    ...rooms.skills.surfaces,
    purgePlugin: async (id: string) =>
      plugins.scopedStorage.clear(id, await storage.keys.principals()),
    toldAnswers: rooms.told,
    toldClients: createToldClients(plugins.scopedStorage.ofPrincipal, sources.clock),
    onFault: log.fault,
    ...(log.request && { onRequest: log.request }),
  }
  return composeHttp(deps, {
    configProblem: config.problem,
    readReadiness: storage.readiness({
      keepAlive,
      // The table serves the operator's eyes: work does not wait for it.
      onReady: (noted) =>
        storage.manifests.syncBundled(agents.last().manifests, noted).catch((error) => {
          log.fault(error)
          return undefined
        }),
    }),
  })
}

type Rooms = ReturnType<typeof composeRooms>

/**
 * The parts of every room, leaves first. A function stands for a part that is built later than the part that needs
 * it.
 */
function composeRooms(env: Env, sources: Sources, { runner, openOAuth, waitUntil }: Platform) {
  const base = composeBase(env, sources, {
    openOAuth,
    keepAlive: waitUntil,
    rotateOthers: () => work.memory.rotate(work.mcp.rotate),
  })
  const work = composeWork({ env, sources, runner, ...base })
  const erasures = composeErasures({
    ...base.common,
    ...base.governance,
    rows: base.storage.erasure,
    sessions: base.sessions.gateway,
    memory: work.memory.longTerm,
    knowledge: work.memory.knowledge,
    schedules: base.schedules.gateway,
    forgetLogins: work.mcp.forgetLogins,
    kv: env.OAUTH_KV,
  })
  return { ...base, ...work, erasures }
}

interface WorkParts extends ReturnType<typeof composeBase> {
  readonly env: Env
  readonly sources: Sources
  readonly runner: Platform['runner'] | undefined
}

/** The parts of an agent's work: plugins, remote servers, the agents themselves, the loop. */
function composeWork(parts: WorkParts) {
  const { env, sources, common, storage, sessions, catalog, governance, readAsset } = parts
  const { installed, validator, outputs, unseenWords: words } = catalog
  const { provider: models, count } = parts.models
  const [{ gateway }, { bundles, memoryOwners }] = [sessions, storage]
  const keys = { memoryOwners, sealing: governance.sealing, keyedHash, randomBytes: secureBytes }
  const ask: AskProvider = async (...asked) => (await agents.inForce()).askProvider(...asked)
  const { config, redact } = common
  const stored = { ...sources, ...keys, ...catalog.words, namespace: env.PRINCIPAL, redact }
  const memory = composeMemory({ ...stored, askProvider: ask })
  const remembersOf: ReturnType<typeof composeAgents>['remembersOf'] = (...of) =>
    agents.remembersOf(...of)
  const knowledgeTools = memory.knowledgeTools(
    async (...of) => (await remembersOf(...of))?.knowledge,
  )
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
    createMemory: memory.createMemory,
    memoryOf: async (...of) => (await remembersOf(...of))?.memory,
    longTerm: memory.longTerm,
    principals: env.PRINCIPAL,
    services: env.PLUGIN_SERVICE,
    bindings: env,
    maxResultChars: outputs.maxChars,
  })
  const skills = composeSkills({
    ...common,
    ...plugins.admission,
    installed,
    buildIndex: catalog.buildIndex,
    bundles,
    skills: storage.skills,
    skillDrafts: storage.skillDrafts,
    readLog: sessions.entry.readLog,
    readAsset,
    asset: bundledSkills,
    count,
  })
  const ownTools = [parts.schedules.tools, knowledgeTools]
  const bundledIds = () => new Set([...agents.last().manifests, ...ownTools].map(({ id }) => id))
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
  const hooks = plugins.liveHooks(
    () => agents.inForce(),
    (...of) => agents.mayRun(...of),
  )
  const agents = composeAgents({
    ...common,
    installed,
    initial: catalog.initial,
    withOutside: catalog.withOutside,
    presence: catalog.presence,
    createToolset: catalog.toolsets({ ...skills.ofAgents, deniedOf: governance.policy.deniedOf }),
    defaultModel: config.models.defaultModel,
    sessions: gateway,
    submitAs: sessions.entry.submitAs,
    createPrompts: memory.createPrompts,
    count,
    persona: skills.persona,
    load: plugins.load,
    wireServers: mcp.wire,
    own: ownTools,
    storedAgents: { ...common, store: storage.storedAgents, people: config.oidc?.people ?? [] },
    onSubAgentStopped: hooks.subAgentStopped,
  })
  const tryOut = plugins.tryOut(agents.wire)
  const lifecycle = catalog.lifecycle({ tryOut, servers: mcp.decisions, bundledIds, skills })
  const [{ answers }, { aroundSummary }] = [governance, hooks]
  const { around, ...told } = createToldAnswers(plugins.scopedStorage.ofPrincipal, sources.sha256)
  const thinking = composeThinking((one) => answers.around(around(hooks.around(one))), validator)
  const gates = { ...governance.policy, ...catalog.ofGates, hooks: words.around(hooks.tools) }
  const builder = createContextBuilder({ count, readTool: readOutputName })
  const fitting = { outputs, aroundSummary, askProvider: ask }
  const context = createContextFitter({ ...sources, ...fitting, builder, models })
  const guarded = { ...thinking, models: answers.behind(models) }
  const session = {
    kernel: composeKernel({ ...sources, ...guarded, gates, context }),
    context: createContextReader({ builder, count, models }),
    memory: memory.around({ countTokens: count.ofText, onFault: common.onFault }),
  }
  return { skills, plugins, mcp, agents, hooks, lifecycle, session, memory, told }
}
