import { toCanonicalJson } from '#contracts/json.ts'

/**
 * A plugin as it is installed: all of it in one value. Its canonical text is what is hashed, signed, kept and checked
 * each time an isolate starts, so that one hash pins manifest, code and files together.
 */
export interface PluginBundle {
  /** `plugin.yaml`, parsed. */
  readonly manifest: unknown
  /** One ES module that imports nothing but `isola/plugin`; absent if the plugin has no code. */
  readonly code?: string
  /** Text files that the manifest refers to, and README.md, by their path in the folder. */
  readonly files: Readonly<Record<string, string>>
}

/** The same bundle has the same text wherever it is made. */
export function toBundleText({ manifest, code, files }: PluginBundle): string {
  return toCanonicalJson({ manifest, ...(code !== undefined && { code }), files })
}

/** What a signature of a plugin signs. */
export const toSignedText = (plugin: { readonly id: string; readonly hash: string }): string =>
  `isola plugin 1\n${plugin.id}\n${plugin.hash}\n`

/** What a bundle may be at most, checked before anything is read. */
export const bundleCaps = {
  /** Of an archive, as it is sent. */
  maxArchiveBytes: 4 * 1024 * 1024,
  /** Of everything in it, unpacked. */
  maxUnpackedBytes: 8 * 1024 * 1024,
  maxFiles: 200,
  maxPathChars: 200,
  /** Of the one module. */
  maxCodeChars: 3 * 1024 * 1024,
  /** Of `plugin.yaml`. */
  maxManifestChars: 256 * 1024,
  /** Of all text files that are kept. */
  maxFilesChars: 512 * 1024,
} as const
