import type { Generation } from './generation.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import type { PluginSignature } from './plugin-upload.ts'
import type { SkillSource, SkillText } from './skill.ts'

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

/** What a signature of a skill signs. */
export const toSignedSkillText = (skill: { readonly name: string; readonly hash: string }) =>
  `isola skill 1\n${skill.name}\n${skill.hash}\n`

/** What an installed skill may be called: the specification's letters, of which here only those of ASCII. */
export const isSkillName = (name: string): boolean =>
  /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && name.length <= 64

/** What a skill may be at most, checked before anything of it is kept. */
export const skillCaps = {
  maxFiles: 200,
  /** Of all its files. */
  maxChars: 1024 * 1024,
  /** Of the front matter, as JSON. */
  maxFieldsChars: 32 * 1024,
  /** Skills of one collection, and characters of all their files. */
  maxSkills: 200,
  maxCollectionChars: 4 * 1024 * 1024,
  /** Of the archive that a collection may be in, with what is beside its skills. */
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
  /** Of its bundle as UTF-8. */
  readonly sizeBytes: number
  /** Its files but SKILL.md. */
  readonly paths: readonly string[]
  /** Tokens of its instructions, as estimated. */
  readonly tokens: number
  /** What of its instructions is searched. */
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

/** What an operator may change of skills; an author adds. */
export type SkillChange =
  | {
      readonly do: 'add'
      readonly version: SkillVersion
      /** The text that its hash is of. */
      readonly bundle: string
      /** Its name looks like another's, and that is meant; an operator says so. */
      readonly allowLookAlike?: boolean
      /** Decides only. */
      readonly dryRun?: boolean
    }
  /** A version that waits is the one in use from now on; by hash, since that is what was looked at. */
  | { readonly do: 'update'; readonly name: string; readonly hash: string }
  | { readonly do: 'enable'; readonly name: string; readonly hash?: string }
  | { readonly do: 'disable'; readonly name: string }
  | { readonly do: 'remove'; readonly name: string }

/** The skill that a change is about. */
export const skillOf = (change: SkillChange): string =>
  change.do === 'add' ? change.version.name : change.name

/** The tables of installed skills; their rows are written with the generation they belong to. May throw `request_unavailable`. */
export interface SkillStore {
  /** Whatever its state; `version` is absent once its bundle was collected. */
  readonly find: (
    name: string,
  ) => Promise<(SkillRow & { readonly version?: SkillVersion }) | undefined>
  /** The installed skills, by name: of this state only, if one is named. */
  readonly list: (state?: 'enabled') => Promise<readonly InstalledSkill[]>
  /** Of a skill, whose bundles are kept, newest first. */
  readonly versions: (name: string) => Promise<readonly SkillVersion[]>
  /** All rows, also of what was removed. */
  readonly rows: () => Promise<readonly SkillRow[]>
  /** Which versions with these bundles are kept: several skills may have the same one. */
  readonly kept: (hashes: readonly string[]) => Promise<readonly SkillVersion[]>
}

/** What `POST /api/operator/skills` takes: a skill, or where several may be, of which `skills` names those that are wanted. */
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
  /** What the operator should read before anything else. */
  readonly notes: readonly string[]
}

/** One of a collection that cannot be installed, and why. */
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

/** Reads skills; no code of theirs is run. Throws `plugin_upload_invalid`, `plugin_signature_invalid`, `plugin_isolate_unavailable`, `plugin_source_unavailable`, or `request_invalid` for a URL. */
export type ReadSkillUploads = (upload: SkillUpload) => Promise<ReadSkills>

/** The changes that another version of a skill brings, for the principal that decides on it. */
export interface SkillChanges {
  /** Of the version that it has. */
  readonly from: string
  readonly description?: { readonly before: string; readonly after: string }
  readonly kind?: { readonly before: string; readonly after: string }
  readonly requires: { readonly added: readonly string[]; readonly removed: readonly string[] }
  /** Of the front matter as it was read; absent where nothing is. */
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

/** How what is sent becomes a skill that may be installed, and what it would change. */
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
  /** Of its folder: its name if it says none. */
  readonly folder?: string | undefined
  readonly bundle?: SkillBundle | undefined
  /** Why there is no bundle. */
  readonly problem?: string | undefined
  readonly notes?: readonly string[] | undefined
  readonly signature?: PluginSignature | undefined
}

/** An enabled skill whose files are not read yet: what a search knows of it. */
export type SearchedSkill = Pick<
  SkillSource,
  'name' | 'description' | 'kind' | 'requires' | 'tier'
> & {
  readonly text: string
}

/** What fits a query, whatever it lacks. */
export type SkillCandidate = Pick<SkillSource, 'name' | 'description' | 'requires' | 'tier'>

/** The skills that fit, best first, of all that ship and all that are enabled. */
export type SearchSkills = (
  queries: readonly string[],
  inForce: {
    /** Another one each time that something may have been enabled or not any more, and in each object that asks. */
    readonly revision: () => object
    /** The parts in force that the part of this name is wired with. */
    readonly around: (name: string) => Pick<Generation, 'pins'>
  },
) => Promise<readonly SkillCandidate[]>

/** The installed skills of a deployment, as a session reaches them. Every verb may throw `request_unavailable`. */
export interface InstalledSkills {
  readonly search: (queries: readonly string[]) => Promise<readonly SkillCandidate[]>
  /** An enabled skill, as it is now. */
  readonly load: (name: string) => Promise<SkillSource | undefined>
}
