import { defined } from '#contracts/defined.ts'
import { toCanonicalJson } from '#contracts/json.ts'

/**
 * An installed plugin in one value. Its canonical text is hashed, signed, stored, and checked each time an isolate
 * starts, so that one hash pins manifest, code and files together.
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
  return toCanonicalJson({ manifest, ...defined({ code }), files })
}

/** The text that a plugin's signature signs. */
export const toSignedText = (plugin: { readonly id: string; readonly hash: string }): string =>
  `isola plugin 1\n${plugin.id}\n${plugin.hash}\n`

/** The size limits of a bundle, checked before it is read. */
export const bundleCaps = {
  /** The size of an archive as sent. */
  maxArchiveBytes: 4 * 1024 * 1024,
  /** The size of all its files, unpacked. */
  maxUnpackedBytes: 8 * 1024 * 1024,
  maxFiles: 200,
  maxPathChars: 200,
  /** The length of the one module. */
  maxCodeChars: 3 * 1024 * 1024,
  /** The length of `plugin.yaml`. */
  maxManifestChars: 256 * 1024,
  /** The length of all stored text files together. */
  maxFilesChars: 512 * 1024,
} as const
