import type { Context, Handler, Hono } from 'hono'
import type { ApprovalRules } from '#runtime/session/types/approval-rules.ts'
import type { ApprovalInbox } from '#contracts/approval.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { ErasureAdministration } from '#features/record/types/erasure.ts'
import type { McpAdministration } from '#runtime/catalog/types/mcp-administration.ts'
import type { KeyAdministration } from '#contracts/keys.ts'
import type { KnowledgeGateway, ReadDocument } from '#contracts/knowledge.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import type { ModelListing, ModelProvider, ModelStatus } from '#contracts/model.ts'
import type { OAuthService } from '#features/access/types/oauth.ts'
import type { Scope } from '#contracts/scopes.ts'
import type { GivenUpRuns } from '#runtime/session/types/given-up-runs.ts'
import type {
  AuditReader,
  Authenticate,
  DatabaseState,
  MetricsReport,
  ModelReport,
  PluginProblem,
  Principal,
  Readiness,
  SessionIndex,
  UsageReport,
} from '#contracts/operations.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { ReadPluginUpload } from '#runtime/catalog/types/plugin-upload.ts'
import type { PrincipalReader } from '#runtime/session/types/principal.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { ReadImage } from '#contracts/read-image.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { AgentSchedules } from '#runtime/session/types/agent-schedules.ts'
import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { AgentAdministration } from '#contracts/stored-agent.ts'
import type { SecretAdministration } from '#features/access/types/secrets.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry } from '#runtime/session/types/session-entry.ts'
import type { SkillLibrary, SkillShelf } from '#runtime/catalog/types/skill.ts'
import type { SkillAdmission } from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillDraftStore } from '#runtime/catalog/types/skill-draft.ts'
import type { Sources } from '#contracts/sources.ts'
import type { RequestEntry } from '#runtime/session/types/telemetry.ts'
import type { TryPolicy } from '#runtime/kernel/types/tool-policy.ts'
import type { TrustAdministration } from '#runtime/catalog/types/trust.ts'
import type { ToldAnswers } from '#features/policy/types/told-answers.ts'
import type { ToldClients } from '#surfaces/mcp/told-clients.ts'

/** A client closed a streamed `/v1` answer before its end. */
export interface GoneClient {
  readonly session: string
  readonly run: string
  readonly principal: string
  readonly reader: string
}

/** The models of the deployment: who answers, what `/v1/models` names, and how they did. */
export interface HttpModels {
  readonly provider: ModelProvider
  readonly list: () => readonly ModelListing[]
  readonly status: () => readonly ModelStatus[]
}

/** Everything the surfaces translate to. They hold no state and decide nothing. */
export interface HttpDeps {
  readonly sessions: SessionGateway
  /** How a surface has work done. */
  readonly entry: SessionEntry
  readonly agents: AgentDirectory
  readonly storedAgents: AgentAdministration
  /** Brings `agents` up to date; with one that is not there then, to this very moment. Never throws. */
  readonly refreshAgents?: (agent?: string) => Promise<void>
  readonly plugins: PluginAdministration
  readonly tryPolicy: TryPolicy
  readonly skills: Pick<SkillLibrary, 'list' | 'show' | 'persona'> & SkillShelf
  readonly skillDrafts: Pick<SkillDraftStore, 'list' | 'find' | 'promote' | 'remove'>
  readonly skillAdmission: SkillAdmission
  /** Remote MCP servers. */
  readonly mcp: McpAdministration
  /** Takes away what a plugin keeps outside of sessions. */
  readonly purgePlugin: (id: string) => Promise<void>
  /** What clients of `/v1` were answered before. */
  readonly toldAnswers: Pick<ToldAnswers, 'labelled'>
  /** What MCP clients were given before. */
  readonly toldClients: ToldClients
  readonly deploymentLog: DeploymentLog
  readonly readUpload: ReadPluginUpload
  /** Reads a file that was uploaded with the Worker; absent where there are none. */
  readonly readAsset?: ((path: string) => Promise<Response>) | undefined
  readonly models: HttpModels
  /** Absent where every model server may be given addresses. */
  readonly readImage?: ReadImage | undefined
  readonly authenticate: Authenticate
  readonly limits: Pick<RequestLimits, 'request' | 'visitor' | 'newSession'>
  /** Absent where the platform that it needs is not there: then nobody signs in, and keys are all there is. */
  readonly oauth?: OAuthService
  readonly audit: AuditReader
  readonly approvals: ApprovalInbox
  readonly approvalRules: Pick<ApprovalRules, 'list' | 'revoke'>
  readonly sessionIndex: SessionIndex
  readonly schedules: ScheduleGateway &
    Pick<ScheduleIndex, 'find' | 'list'> & {
      /** Brings the schedule of a manifest, or of all of them, to what is enabled. Never throws. */
      readonly syncPlugins: (plugin?: string) => Promise<void>
      /** Of agents without a plugin: told of each change of one. */
      readonly ofAgents: AgentSchedules
      /** Looks whether any is late, at most once a minute. Never throws. */
      readonly glance: () => Promise<void> | undefined
    }
  readonly givenUp: GivenUpRuns
  readonly modelReport: ModelReport
  readonly metrics: MetricsReport
  readonly usage: UsageReport
  readonly principals: PrincipalReader
  readonly memory: MemoryGateway
  readonly knowledge: KnowledgeGateway & { readonly read: ReadDocument }
  readonly erasures: ErasureAdministration
  /** Where the cost of a day is limited, in words for an operator. May throw. */
  readonly costLimits: () => Promise<readonly string[]>
  readonly keys: KeyAdministration
  readonly trust: TrustAdministration
  readonly secrets: SecretAdministration
  /** Why no secret can be sealed or opened. */
  readonly secretProblem: () => Error | undefined
  /** Asked on every request but `/healthz`: the caller caches `ready`. */
  readonly readiness: () => Promise<Readiness>
  /** Asked anew each time; never throws. */
  readonly database: () => Promise<DatabaseState>
  readonly sources: Sources
  readonly version: string
  /** On a developer's own machine, where whoever looks may know which model answers. */
  readonly isDevelopment: boolean
  /** Further names under which clients may reach this deployment. */
  readonly hosts?: readonly string[]
  /** Seals what MCP clients carry from one request to the next. At least 32 bytes. */
  readonly stateKey: string | undefined
  readonly pluginProblems: () => Promise<readonly PluginProblem[]>
  /** Kept alive with `waitUntil` where there is one. */
  readonly onClientGone?: (gone: GoneClient) => Promise<void> | void
  /** Gets what a caller never sees: the error behind a 5xx. */
  readonly onFault?: (error: unknown, requestId: string, secrets?: readonly string[]) => void
  /** Told of every request when its answer begins. */
  readonly onRequest?: (entry: RequestEntry) => void
}

/** What a request carries on its way through the app. */
export interface HttpEnv {
  Variables: {
    requestId: string
    /** The headers that a page of another origin may read of the answer; absent where it may read none of it. */
    corsExposed?: string
    principal: Principal
    /** What a token would have needed: for the answer that refuses it. */
    neededScopes?: readonly Scope[]
    /** Once something was begun under it. */
    trace?: string
    /** A run was asked for with it: an error must not be answered by the same request again. */
    mayHaveBegun?: boolean
  }
}

/** One request, with what was found out about it. */
export type HttpContext = Context<HttpEnv>
/** Answers one request; what it throws becomes an error of the OpenAI shape. */
export type HttpHandler = Handler<HttpEnv>
/** The router of the Worker. */
export type HttpApp = Hono<HttpEnv>
