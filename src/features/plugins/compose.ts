import type { BundledPlugin } from './types/manifest.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import { createCodeSource, createIsolates, type IsolatesDeps } from './sandbox/worker-code.ts'
import { createIsolateHost, type IsolateHostDeps } from './sandbox/isolate-host.ts'
import { defined } from '#contracts/defined.ts'
import type { DeploymentLogs } from '#platform/d1/types.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { skillCaps } from '#runtime/catalog/types/skill-catalog.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import type { TrustStore } from '#runtime/catalog/types/plugin-upload.ts'
import type { CapabilityDeps } from './capabilities/capability-deps.ts'
import { createFaultReport, type FaultReportDeps } from './capabilities/fault-report.ts'
import { pluginsOf } from './loading/generation.ts'
import { toPluginDatabases } from './capabilities/storage/granted-database.ts'
import type { HooksDeps } from './hooks/ask-point.ts'
import { createHooks } from './hooks/create-hooks.ts'
import { createLiveHooks } from './hooks/live-hooks.ts'
import { loadPlugins } from './loading/in-process-host.ts'
import {
  createArchiveReader,
  createSkillArchiveReader,
  type ArchiveReaderDeps,
} from './admission/archive-reader.ts'
import { checkDistinct, checkPath } from './admission/archive-paths.ts'
import { createUploadReader, createVerifier } from './admission/upload-reader.ts'
import { createIsolateMeter } from './capabilities/isolate-meter.ts'
import { fetchArchive, type FetchArchiveDeps } from './admission/fetch-archive.ts'
import { createTryOut, type TryOutDeps } from './admission/try-out.ts'
import { createNetworkNow, type NetworkNowDeps } from './capabilities/open-network.ts'
import {
  createScopedStorage,
  type ScopedStorageOptions,
} from './capabilities/storage/scoped-storage.ts'
import { createProviders } from './providers/providers.ts'
import { createReplyRedactor } from './secrets/reply-redactor.ts'
import {
  createRevocationWatch,
  createServerRevocationWatch,
  type RevocationDeps,
} from './capabilities/revocation-watch.ts'
import { toToolEntries } from './tools/tool-entries.ts'

interface IsolateParts extends Pick<IsolatesDeps, 'loader' | 'shim'> {
  readonly bundled: readonly BundledPlugin[]
  readonly bundles: Pick<BundleStore, 'load'>
  /** Absent if this deployment's own entrypoints cannot be called. */
  readonly runner: IsolateHostDeps['runner'] | undefined
  readonly sha256: IsolateHostDeps['sha256']
  readonly config: Required<Pick<IsolateHostDeps, 'sharesIsolate'>>
}

/** The isolates for code of plugins and of models; `host` is absent without them. */
function composeIsolates(parts: IsolateParts) {
  const { loader, shim, bundled, bundles, runner, sha256, config } = parts
  const isolates = createIsolates({ loader, shim, codeOf: createCodeSource(bundled, bundles) })
  const modelCode = runner && isolates && { runner, sha256, shimVersion: shim.version }
  const host = modelCode && createIsolateHost({ ...modelCode, ...config })
  return { isolates, modelCode, host }
}

type Given = Pick<
  CapabilityDeps,
  | 'sessions'
  | 'createMemory'
  | 'memoryOf'
  | 'longTerm'
  | 'send'
  | 'checkUrl'
  | 'readSecrets'
  | 'validator'
>
interface PluginParts
  extends
    Given,
    IsolateParts,
    Pick<ArchiveReaderDeps, 'readAsset' | 'reader'>,
    ScopedStorageOptions {
  readonly config: Pick<NetworkNowDeps, 'ownHosts'> & {
    readonly isolatePriceNanoUsd: number
    readonly sharesIsolate: (plugin: string) => boolean
    readonly sqlDatabases: readonly string[]
  }
  /** The bindings in which the operator's databases for plugins are found by name. */
  readonly bindings: object
  readonly clock: Clock
  readonly ids: Ids
  readonly installed: Omit<NetworkNowDeps, 'ownHosts'> &
    Omit<RevocationDeps, 'clock'> & {
      readonly report: FaultReportDeps['report']
    }
  readonly bundles: BundleStore
  readonly trust: TrustStore
  readonly log: DeploymentLogs
  readonly maxResultChars: number
  readonly onFault: (error: unknown) => void
}

/** The hosts of plugins, the capabilities of their code, and the admission of uploads: leaves first. */
export function composePlugins(parts: PluginParts) {
  const { clock, sha256, ids, installed, trust, validator, send } = parts
  const { isolates, modelCode, host } = composeIsolates(parts)
  const { scopedStorage, capabilities } = toCapabilities(parts, modelCode)
  const openHosts = async () => (await capabilities.network.rule())?.hosts ?? []
  const hookParts = { capabilities, clock, maxResultChars: parts.maxResultChars }
  const archiveParts = { ...parts, isolates, sleep: clock.sleep }
  const record: HooksDeps['record'] = (event) => parts.log.append(event).catch(parts.onFault)
  return {
    isolates,
    scopedStorage,
    redactorOf: (values: Iterable<string>) => createReplyRedactor(values).text,
    watchServer: createServerRevocationWatch({ ...installed, clock }),
    liveHooks: createLiveHooks,
    load: (snapshot: PluginSnapshot) => {
      const { plugins, problems } = pluginsOf(parts.bundled, snapshot)
      const loaded = loadPlugins(plugins, { validator, isolates: host })
      const told = { ...hookParts, traceId: ids.traceId, log: parts.log }
      const providers = createProviders(loaded.plugins, told)
      return {
        ...loaded,
        plugins: loaded.plugins.map((plugin) => ({
          ...plugin,
          tools: toToolEntries(plugin, capabilities),
        })),
        hooks: createHooks(loaded.plugins, { ...hookParts, traceId: ids.traceId, record }),
        askProvider: providers.ask,
        problems: [...problems, ...loaded.problems, ...loaded.warnings, ...providers.problems],
      }
    },
    openHosts,
    tryOut: (wire: TryOutDeps['wire']) => createTryOut({ wire, isolates: host }),
    /** Skills are admitted through the same readers. */
    admission: {
      readArchive: createSkillArchiveReader(archiveParts),
      fetchArchive: (url: string, hop?: Pick<FetchArchiveDeps, 'from' | 'onAnswer'>) =>
        fetchArchive(url, {
          send,
          openHosts,
          maxBytes: skillCaps.archive.maxArchiveBytes,
          ...hop,
        }),
      verify: createVerifier(trust),
      checkPaths(paths: readonly string[]) {
        for (const path of paths) checkPath(path)
        checkDistinct(paths)
      },
    },
    readUpload: createUploadReader({
      readArchive: createArchiveReader(archiveParts),
      trust,
      sha256,
      send,
      openHosts,
    }),
  }
}

/** The dependencies of every call's capabilities. */
function toCapabilities(parts: PluginParts, modelCode: CapabilityDeps['modelCode']) {
  const { config, clock, ids, installed, sessions, validator, send, checkUrl } = parts
  const scopedStorage = createScopedStorage(parts)
  const priceNanoUsd = config.isolatePriceNanoUsd
  const capabilities: CapabilityDeps = {
    sessions,
    ids,
    clock,
    validator,
    scopedStorage,
    send,
    checkUrl,
    createMemory: parts.createMemory,
    memoryOf: parts.memoryOf,
    longTerm: parts.longTerm,
    readSecrets: parts.readSecrets,
    databases: toPluginDatabases(config.sqlDatabases, parts.bindings),
    network: createNetworkNow({ ...installed, ...config }),
    watchRevocation: createRevocationWatch({ ...installed, clock }),
    faults: createFaultReport({ report: installed.report, clock }),
    meter: createIsolateMeter({ priceNanoUsd, clock, sessions, scopedStorage }),
    ...defined({ modelCode }),
  }
  return { scopedStorage, capabilities }
}
