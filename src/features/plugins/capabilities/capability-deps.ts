import type { MemoryGateway } from '#contracts/long-term.ts'
import type { MemorySettings } from '#contracts/manifest/memory-settings.ts'
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

/** What the capabilities of any call are made from. One for a deployment: nothing in it belongs to a call. */
export interface CapabilityDeps extends Pick<Outbound, 'send' | 'checkUrl'> {
  readonly sessions: SessionGateway
  /** The memory room's scratchpad over the storage verbs. */
  readonly createMemory: (ask: AskStorage, streamOf: StreamOf) => MemoryClient
  readonly longTerm: MemoryGateway
  /** What an agent says of its memory, in whose run it is; nothing for the orchestrator. */
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
  /** Absent where there are no isolates. */
  readonly modelCode?: ModelCodeRunner
  /** Checks what a person answered against the schema of what was asked. */
  readonly validator: SchemaValidator
  /** Absent where no plugin can be switched off. */
  readonly watchRevocation?: WatchRevocation
  readonly faults?: FaultReport
  /** Absent where isolates cost nothing. */
  readonly meter?: IsolateMeter
}
