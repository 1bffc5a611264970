import type { BundledPlugin } from '#contracts/manifest/manifest.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import { createCodeSource } from './code-source.ts'
import { createIsolateHost, type IsolateHostDeps } from './isolate-host.ts'
import { createIsolates, type IsolatesDeps } from './worker-code.ts'

export interface IsolateParts extends Pick<IsolatesDeps, 'loader' | 'shim'> {
  readonly bundled: readonly BundledPlugin[]
  readonly bundles: Pick<BundleStore, 'load'>
  /** Absent if this deployment's own entrypoints cannot be called. */
  readonly runner: IsolateHostDeps['runner'] | undefined
  readonly sha256: IsolateHostDeps['sha256']
  readonly config: Required<Pick<IsolateHostDeps, 'sharesIsolate'>>
}

/** The isolates for code of plugins and of models; `host` is absent without them. */
export function composeIsolates(parts: IsolateParts) {
  const { loader, shim, bundled, bundles, runner, sha256, config } = parts
  const isolates = createIsolates({ loader, shim, codeOf: createCodeSource(bundled, bundles) })
  const modelCode = runner && isolates && { runner, sha256, shimVersion: shim.version }
  const host = modelCode && createIsolateHost({ ...modelCode, ...config })
  return { isolates, modelCode, host }
}
