import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'
import { skillCaps, type SentSkill } from '#runtime/catalog/types/skill-catalog.ts'
import type { ArchiveIsolate, Isolates } from '../sandbox/worker-code.ts'
import { parseBundle, type CheckedBundle } from './parse-bundle.ts'
import { refused } from './archive-paths.ts'

/** Reads a zip. Throws `plugin_upload_invalid`, `plugin_manifest_invalid` or `plugin_isolate_unavailable`. */
export type ReadArchive = (archive: Uint8Array) => Promise<CheckedBundle>

/** Our own code that reads archives, stored as an asset of the deployment. */
export interface ArchiveReaderAsset {
  /** Path of the asset, such as `/archive-reader.js`. */
  readonly path: string
  /** Hash of the asset's text; any other text is not run. */
  readonly sha256: string
}

export interface ArchiveReaderDeps {
  /** Absent without a Worker Loader. */
  readonly isolates: Pick<Isolates, 'openReader'> | undefined
  /** Reads a file of the deployment by its path; absent without assets. */
  readonly readAsset: ((path: string) => Promise<Response>) | undefined
  readonly reader: ArchiveReaderAsset
  readonly sha256: (text: string) => string
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** The largest zip takes a few hundredths of a second. */
const timeoutMs = 10_000
/** The largest bundle with each character at its longest in JSON. */
const maxAnswerChars =
  6 * (bundleCaps.maxManifestChars + bundleCaps.maxCodeChars + bundleCaps.maxFilesChars) + 10_000

const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.enum(['plugin_upload_invalid', 'plugin_manifest_invalid']),
    message: z.string().max(2_000),
    param: z.string().max(200).optional(),
  }),
})
const bundleSchema = z.strictObject({ bundle: z.unknown() })

/** Reads all skills of an archive, or those of these names. Throws what `ReadArchive` does. */
export type ReadSkillArchive = (
  archive: Uint8Array,
  only: readonly string[],
) => Promise<readonly SentSkill[]>

/**
 * Reads archives in an isolate without network and bindings. Each archive gets a new isolate, so that an archive that
 * takes over the parsers cannot affect the next one. The isolate's answer is untrusted, and is checked like a bundle
 * from a client.
 * @see docs/security.md T26
 */
export function createArchiveReader(deps: ArchiveReaderDeps): ReadArchive {
  const inIsolate = createIsolateReader(deps)
  return async (archive) => {
    const answer = await inIsolate((isolate) => isolate.read(archive), {
      schema: bundleSchema,
      maxChars: maxAnswerChars,
    })
    return parseBundle(answer.bundle)
  }
}

/** The same for skills, whose bundles are checked at their installation. */
export function createSkillArchiveReader(deps: ArchiveReaderDeps): ReadSkillArchive {
  const inIsolate = createIsolateReader(deps)
  return async (archive, only) => {
    const answer = await inIsolate((isolate) => isolate.readSkills(archive, only), {
      schema: (await import('#runtime/catalog/types/skill-catalog.ts')).readSkillsAnswer,
      maxChars: 6 * skillCaps.maxCollectionChars,
    })
    return answer.skills
  }
}

function createIsolateReader({ isolates, readAsset, reader, sha256, sleep }: ArchiveReaderDeps) {
  let loaded: Promise<string> | undefined
  const load = async (read: NonNullable<typeof readAsset>): Promise<string> => {
    const response = await read(reader.path)
    const text = response.ok ? await response.text() : ''
    if (sha256(text) === reader.sha256) return text
    throw new IsolaError('plugin_isolate_unavailable', unavailable, {
      detail: `asset ${reader.path}: ${response.ok ? 'another text than was built' : response.status}`,
    })
  }
  const codeOf = (read: NonNullable<typeof readAsset>) =>
    (loaded ??= load(read).catch((error: unknown) => {
      loaded = undefined
      throw error
    }))

  return async <T>(
    read: (isolate: ArchiveIsolate) => Promise<unknown>,
    wanted: Wanted<T>,
  ): Promise<T> => {
    if (!isolates || !readAsset) throw new IsolaError('plugin_isolate_unavailable', unavailable)
    const code = await codeOf(readAsset)
    const done = new AbortController()
    const late = sleep(timeoutMs, done.signal).then(
      () => refuseUnread(`took longer than ${timeoutMs / 1_000} seconds`),
      () => undefined,
    )
    const answer = read(isolates.openReader(code)).catch((cause: unknown) =>
      refuseUnread('could not be read', cause),
    )
    const text = await Promise.race([answer, late]).finally(() => done.abort())
    return toAnswer(text, wanted)
  }
}

const unavailable =
  'A zip is read in an isolate, and this deployment has none (docs/plans.md). Add it with ' +
  '`isola plugin add` or `isola skill add`, which read it on your machine, or send { bundle } as JSON.'

function refuseUnread(why: string, cause?: unknown): never {
  throw refused(`The archive ${why}.`, cause)
}

/** The form that an answer must have. */
interface Wanted<T> {
  readonly schema: z.ZodType<T>
  readonly maxChars: number
}

function toAnswer<T>(text: unknown, { schema, maxChars }: Wanted<T>): T {
  if (typeof text !== 'string' || text.length > maxChars) return refuseUnread('could not be read')
  const value = parseJson(text)
  const failed = errorSchema.safeParse(value)
  if (failed.success) {
    const { code, message, param } = failed.data.error
    throw new IsolaError(code, message, defined({ param }))
  }
  const { data, error: cause } = schema.safeParse(value)
  return data ?? refuseUnread('could not be read', cause)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
