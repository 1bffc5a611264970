import type { MemoryGateway } from '#contracts/long-term.ts'
import type { MemorySettings } from '#contracts/manifest/agent-manifest.ts'
import type { MemoryClient, StreamOf } from '../types/memory.ts'
import type { Outbound } from '#contracts/outbound.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import type { SchemaValidator, ToolContext } from '#contracts/tool.ts'
import type { FaultReport } from './fault-report.ts'
import type { PluginDatabases } from './storage/granted-database.ts'
import type { ModelCodeRunner } from './granted-isolate.ts'
import type { AskStorage } from './storage/granted-storage.ts'
import type { IsolateMeter } from './isolate-meter.ts'
import type { NetworkNow } from './open-network.ts'
import type { ScopedStorage } from './storage/scoped-storage.ts'
import type { WatchRevocation } from './revocation-watch.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { CallLabels } from './plugin-flow.ts'

/** Dependencies of every call's capabilities. Shared by the deployment: nothing in it belongs to a call. */
export interface CapabilityDeps extends Pick<Outbound, 'send' | 'checkUrl'> {
  readonly sessions: SessionGateway
  /** The memory room's scratchpad over the storage verbs. */
  readonly createMemory: (ask: AskStorage, streamOf: StreamOf) => MemoryClient
  readonly longTerm: MemoryGateway
  /** The memory settings of the run's agent; `undefined` for the orchestrator. */
  readonly memoryOf: (
    agent: string,
    context: Pick<ToolContext, 'principal' | 'options'>,
  ) => Promise<MemorySettings | undefined>
  readonly readSecrets: ReadSecrets
  readonly ids: Pick<Ids, 'next'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly scopedStorage: Pick<ScopedStorage, 'ofPrincipal' | 'ofPlugin'>
  readonly network: NetworkNow
  readonly databases: PluginDatabases
  /** Absent without isolates. */
  readonly modelCode?: ModelCodeRunner
  /** Checks a user's answer against the schema of the question. */
  readonly validator: SchemaValidator
  /** Absent if plugins cannot be switched off. */
  readonly watchRevocation?: WatchRevocation
  readonly faults?: FaultReport
  /** Absent if isolates cost nothing. */
  readonly meter?: IsolateMeter
}

/** Refuses a capability that was not granted: the plugin gets an error each time, the record one event a call. */
export type Refuse = (capability: string) => () => Promise<never>

/** One call of a plugin, for the capabilities that it gets. */
export interface CallParts {
  readonly plugin: LoadedPlugin
  readonly context: ToolContext
  readonly deps: CapabilityDeps
  readonly refuse: Refuse
  /** Labels of the values that the call's storage reads and writes. Absent if no result returns to a context. */
  readonly labels: CallLabels | undefined
}
