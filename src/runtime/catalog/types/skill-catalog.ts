import * as z from 'zod'
import { type JsonObject, toCanonicalJson } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { HasPins } from './generation.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { PluginSignature } from './plugin-upload.ts'
import type { SkillSource, SkillText } from './skill.ts'

/** One writing of a draft by an agent. */
export interface DraftWriting {
  readonly session: string
  readonly run: string
  readonly call: string
  readonly principal: string
  readonly agent: string
  /** Provider and name of the model that wrote it; absent if the session does not know. */
  readonly model?: string
  /** The tools that the run had called by then, at most 50. */
  readonly tools: readonly string[]
  /** The label of everything that its writer had read. */
  readonly label: Label
  /** The sha-256 of the files that this writing brought. */
  readonly hash: string
  readonly atMs: number
}

/** The text of a draft, as it would be installed. */
export interface DraftText {
  readonly name: string
  readonly description: string
  readonly requires: readonly string[]
  /** The hash that an installed skill with these files has: promoting keeps it. */
  readonly hash: string
  /** Text by path; `SKILL.md` is one of them. */
  readonly files: Readonly<Record<string, string>>
}

/** The front matter of a draft's SKILL.md. The runtime builds it from the draft's fields, so no other text gets in. */
export const draftFields = ({
  name,
  description,
  requires,
}: Pick<DraftText, 'name' | 'description' | 'requires'>) => ({
  name,
  description,
  ...(requires.length > 0 && { metadata: { 'isola-requires': requires.join(' ') } }),
})

/** With what another text is compared with. */
export type SketchedText = DraftText & { readonly sketch: string }

/** A draft in a list. Nothing finds it and nothing loads it. */
export interface DraftSummary extends Omit<DraftText, 'files'> {
  readonly id: string
  /** A promoted draft stays, as the record of where its skill came from. */
  readonly state: 'open' | 'promoted'
  /** The principal of the run that wrote the current text. */
  readonly principal: string
  /** The label of the run that wrote the current text. */
  readonly label: Label
  /** How often it, or nearly the same, was written. */
  readonly count: number
  readonly firstAtMs: number
  readonly lastAtMs: number
  readonly promotedBy?: string
  readonly promotedAtMs?: number
}

/** A draft with its files and the last times that it was written, newest first, at most 50. */
export interface SkillDraft extends DraftSummary, Pick<DraftText, 'files'> {
  readonly writings: readonly DraftWriting[]
}

/** How much may be written. */
export interface DraftBudget {
  readonly perRun: number
  readonly perDay: number
  /** The numbers of open drafts: of one principal, and of the deployment. */
  readonly openOfPrincipal: number
  readonly open: number
}

/** Why a write does not fit its budget. */
export type OverBudget = keyof DraftBudget

/** The outcome of a write: a `message` says what to change. */
export type SkillWriting =
  | {
      readonly ok: true
      /** Absent if it became one more writing of another principal's draft. */
      readonly draft?: string
      readonly name: string
      readonly hash: string
      /** Secrets that were taken out of its text. */
      readonly redacted: number
    }
  | { readonly ok: false; readonly message: string }

/** Stores an agent's text as a draft. Throws `request_unavailable`. */
export type EmitSkill = (
  input: JsonObject,
  context: Pick<ToolContext, 'session' | 'run' | 'call' | 'principal' | 'agent' | 'label'>,
) => Promise<SkillWriting>

/** `{ fields, files }` of a skill. Their contents are checked where they are read. */
export const skillBundleSchema = z.strictObject({
  fields: z.custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be the front matter of SKILL.md as an object',
  ),
  files: z.record(z.string(), z.string()),
})

/** The answer of an isolate that has read an archive. */
export const readSkillsAnswer = z.strictObject({
  skills: z.array(
    z.union([
      z.strictObject({
        folder: z.string().max(300).optional(),
        bundle: skillBundleSchema,
        notes: z.array(z.string().max(5_000)).max(20),
      }),
      z.strictObject({ folder: z.string().max(300).optional(), problem: z.string().max(2_000) }),
    ]),
  ),
})

/** A skill as it is installed: all of it in one value, of which one hash pins every word. */
export interface SkillBundle {
  /** The front matter of SKILL.md, parsed where it came from: the Worker parses no YAML. */
  readonly fields: JsonObject
  /** Text by path; `SKILL.md` is one of them. */
  readonly files: Readonly<Record<string, string>>
}

/** The text that is hashed and stored: the same skill has the same text wherever it is made. */
export const toSkillBundleText = ({ fields, files }: SkillBundle): string =>
  toCanonicalJson({ fields, files })

/** The text that a skill's signature signs. */
export const toSignedSkillText = (skill: { readonly name: string; readonly hash: string }) =>
  `isola skill 1\n${skill.name}\n${skill.hash}\n`

/** The names that an installed skill may have: the specification's letters, but ASCII only. */
export const isSkillName = (name: string): boolean =>
  /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && name.length <= 64

/** The size limits of a skill, checked before it is stored. */
export const skillCaps = {
  maxFiles: 200,
  /** The length of all its files together. */
  maxChars: 1024 * 1024,
  /** The length of the front matter as JSON. */
  maxFieldsChars: 32 * 1024,
  /** Skills of one collection, and characters of all their files. */
  maxSkills: 200,
  maxCollectionChars: 4 * 1024 * 1024,
  /** The limits of an archive with a collection, with the files beside its skills. */
  archive: {
    maxArchiveBytes: 8 * 1024 * 1024,
    maxUnpackedBytes: 32 * 1024 * 1024,
    maxFiles: 4_000,
  },
} as const

/** A version of a skill that was brought once; its content never changes. */
export interface SkillVersion extends Omit<
  SkillText,
  'body' | 'metadata' | 'allowedTools' | 'frontMatter'
> {
  readonly hash: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  /** Where it came from: `upload`, `zip`, a URL, or the sender's words. */
  readonly source: string
  /** The name of the key that signed it. */
  readonly signer?: string
  readonly installedAtMs: number
  readonly installedBy: string
  /** The size of its bundle as UTF-8. */
  readonly sizeBytes: number
  /** Its files but SKILL.md. */
  readonly paths: readonly string[]
  /** Tokens of its instructions, as estimated. */
  readonly tokens: number
  /** The part of its instructions that is searched. */
  readonly text: string
}

/** A skill that was installed, as the deployment has it. */
export interface SkillRow {
  readonly name: string
  readonly hash: string
  readonly state: 'installed' | 'enabled' | 'disabled' | 'removed'
  /** The principal who brought it. */
  readonly owner: string
}

/** The same with the version that it has. */
export interface InstalledSkill extends SkillRow {
  readonly version: SkillVersion
}

/** The operator's changes of skills; an author may add. */
export type SkillChange =
  | {
      readonly do: 'add'
      readonly version: SkillVersion
      /** The text that its hash is of. */
      readonly bundle: string
      /** An operator confirms a name that looks like another's. */
      readonly allowLookAlike?: boolean
      /** Decides only. */
      readonly dryRun?: boolean
    }
  /** Takes a waiting version into use; by hash, since the operator reviewed that content. */
  | { readonly do: 'update'; readonly name: string; readonly hash: string }
  | { readonly do: 'enable'; readonly name: string; readonly hash?: string }
  | { readonly do: 'disable'; readonly name: string }
  | { readonly do: 'remove'; readonly name: string }

/** The skill that a change is about. */
export const skillOf = (change: SkillChange): string =>
  change.do === 'add' ? change.version.name : change.name

/**
 * The tables of installed skills; their rows are written with the generation they belong to. May throw
 * `request_unavailable`.
 */
export interface SkillStore {
  /** The skill in any state; `version` is absent once its bundle was collected. */
  readonly find: (
    name: string,
  ) => Promise<(SkillRow & { readonly version?: SkillVersion }) | undefined>
  /** The installed skills, by name: of this state only, if one is named. */
  readonly list: (state?: 'enabled') => Promise<readonly InstalledSkill[]>
  /** The versions of a skill with a stored bundle, newest first. */
  readonly versions: (name: string) => Promise<readonly SkillVersion[]>
  /** All rows, also of removed skills. */
  readonly rows: () => Promise<readonly SkillRow[]>
  /** The versions with these bundles: several skills may have the same bundle. */
  readonly kept: (hashes: readonly string[]) => Promise<readonly SkillVersion[]>
}

/**
 * The body of `POST /api/operator/skills`: a skill, or a place with several, of which `skills` names the wanted ones.
 */
export type SkillUpload =
  | { readonly sent: SentSkill; readonly source?: string | undefined }
  | { readonly zip: Uint8Array; readonly skills?: readonly string[] | undefined }
  | { readonly url: string; readonly skills?: readonly string[] | undefined }

/** A skill that may be installed. */
export interface ReadSkillUpload {
  readonly version: Omit<SkillVersion, 'installedAtMs' | 'installedBy'>
  readonly bundle: SkillBundle
  /** The canonical text of the bundle. */
  readonly text: string
  /** Notes that the operator should read first. */
  readonly notes: readonly string[]
}

/** A skill of a collection that cannot be installed, and why. */
export interface RefusedSkill {
  readonly name: string
  readonly code: string
  readonly message: string
}

/** The skills that an upload has, and the refused ones. */
export interface ReadSkills {
  readonly skills: readonly ReadSkillUpload[]
  readonly refused: readonly RefusedSkill[]
}

/**
 * Reads skills; no code of theirs is run. Throws `plugin_upload_invalid`, `plugin_signature_invalid`,
 * `plugin_isolate_unavailable`, `plugin_source_unavailable`, or `request_invalid` for a URL.
 */
export type ReadSkillUploads = (upload: SkillUpload) => Promise<ReadSkills>

/** The changes that another version of a skill brings, for the principal that decides on it. */
export interface SkillChanges {
  /** The hash of its present version. */
  readonly from: string
  readonly description?: { readonly before: string; readonly after: string }
  readonly kind?: { readonly before: string; readonly after: string }
  readonly requires: { readonly added: readonly string[]; readonly removed: readonly string[] }
  /** The changes of the front matter; absent if there are none. */
  readonly fields?: CountedLines
  /** An empty file has no line. */
  readonly files: readonly (CountedLines & {
    readonly path: string
    readonly is: 'new' | 'gone' | 'changed'
  })[]
}

/** The lines that differ, with hidden characters shown as codes. */
interface CountedLines {
  /** Lines that are new, and that are gone. A line that moved is both. */
  readonly added: number
  readonly removed: number
  readonly moved: number
  /** All of them where they stand, as `lines` of a LineDiff. */
  readonly lines: readonly string[]
}

/** Reads uploads into skills that may be installed, and compares them with the installed ones. */
export interface SkillAdmission {
  readonly read: ReadSkillUploads
  /** Nothing if there is no installed skill of that name. */
  readonly changes: (
    name: string,
    to: Pick<ReadSkillUpload, 'version' | 'bundle'> | { readonly hash: string },
  ) => Promise<SkillChanges | undefined>
}

/** A bundle as it was sent, before it was checked. */
export interface SentSkill {
  /** The name of its folder: the skill's name if its file has none. */
  readonly folder?: string | undefined
  readonly bundle?: SkillBundle | undefined
  /** Why there is no bundle. */
  readonly problem?: string | undefined
  readonly notes?: readonly string[] | undefined
  readonly signature?: PluginSignature | undefined
}

/** An enabled skill as a search knows it, before its files are read. */
export type SearchedSkill = Pick<
  SkillSource,
  'name' | 'description' | 'kind' | 'requires' | 'tier'
> & {
  readonly text: string
}

/** A skill that fits a query, even if its requirements are missing. */
export type SkillCandidate = Pick<SkillSource, 'name' | 'description' | 'requires' | 'tier'>

/** The skills that fit, best first, of all that ship and all that are enabled. */
export type SearchSkills = (
  queries: readonly string[],
  inForce: {
    /** A new object after each possible change of the enabled skills, and in each object that calls it. */
    readonly revision: () => object
    /** The parts in force that the part of this name is wired with. */
    readonly around: (name: string) => HasPins
  },
) => Promise<readonly SkillCandidate[]>

/** The installed skills of a deployment, as a session reaches them. Every verb may throw `request_unavailable`. */
export interface InstalledSkills {
  readonly search: (queries: readonly string[]) => Promise<readonly SkillCandidate[]>
  /** An enabled skill, as it is now. */
  readonly load: (name: string) => Promise<SkillSource | undefined>
}
