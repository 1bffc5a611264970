import type { Manifest } from '#contracts/manifest/manifest.ts'

/** A tool that a manifest contributes. */
export type ToolManifest = Manifest['contributes']['tools'][number]
