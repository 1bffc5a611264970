import type { PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
import { folderToBundle } from './folder-to-bundle.ts'
import { unzip, withoutTop } from './unzip.ts'

/**
 * Reads the zip of a plugin's folder: the only place where a zip and YAML are parsed. On the server it runs in an
 * isolate of its own (inside/archive-entry.ts); the command runs it directly.
 *
 * @throws `plugin_upload_invalid` or `plugin_manifest_invalid`
 */
export const readArchive = (archive: Uint8Array): PluginBundle =>
  folderToBundle(new Map(withoutTop([...unzip(archive)])))
