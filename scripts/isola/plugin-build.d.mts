import type { Manifest } from '../../src/contracts/manifest.ts'
import type { PluginBundle } from '../../src/contracts/plugin-bundle.ts'

export interface BuiltPlugin {
  readonly bundle: PluginBundle
  readonly manifest: Manifest
  readonly hash: string
}
/** Throws what is wrong with the folder, file and line first. */
export declare function buildFolder(path: string): Promise<BuiltPlugin>

/** Whether a file outside of a plugin's folder may be bundled into it. */
export declare function isPackageModule(
  path: string,
  attributes?: Readonly<Record<string, string>>,
  ours?: string,
): boolean
