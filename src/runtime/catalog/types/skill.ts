import type { ToolEntry } from '#contracts/tool.ts'
import type { SearchHit } from '#contracts/search.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom, ownLabel, type Label } from '#contracts/label.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'

/** The tools of a set that are not in it from the start: each is looked up when it is named. */
export interface MoreTools {
  /** Looks up the tools of these names. Rejects if the catalog is unavailable. */
  readonly ready: (names: readonly string[]) => Promise<void>
  /** A tool that `ready` has looked up. */
  readonly entry: (name: string) => ToolEntry | undefined
  /** Whether an owner that `ready` has looked up, by any of its tools' names, has tools here. */
  readonly owns: (id: string) => boolean
  /** The best of all tools, with tools of the set. Rejects if the catalog is unavailable. */
  readonly search: (queries: readonly string[], limit: number) => Promise<readonly SearchHit[]>
  /** Private tools of one principal, excluded from the shared index. Rejects if the catalog is unavailable. */
  readonly own?: ((principal: string) => Promise<readonly ToolEntry[]>) | undefined
}

/** The owner of a tool: every tool's name begins with its owner's id (`kv` of `kv__set`). */
export const ownerOf = (tool: string): string => tool.split('__', 1)[0] ?? tool

/** The longest persona: so much room is left in the prompt once no tool is pinned, also with narrow reading. */
export const maxPersonaTokens = 510

/** A fault in a SKILL.md, or a field without effect. */
export interface SkillDiagnostic {
  /**
   * `error`: the skill is not loaded. `warning`: it is, though the specification wants it otherwise. `note`: it is
   * valid, and something of it has no effect here.
   */
  readonly severity: 'error' | 'warning' | 'note'
  /** The key of the front matter; absent if it is about the file. */
  readonly field?: string
  readonly message: string
}

/** A `persona` is how an agent speaks: it is never found by a search. */
export type SkillKind = 'skill' | 'persona'

/** The front matter of a SKILL.md, and the text under it. */
export interface SkillText {
  /** Lowercase letters, digits and hyphens, 64 at most; of a file that has none the folder's name. */
  readonly name: string
  /** Its purpose and its use, at most 1,024 characters in a valid file. */
  readonly description: string
  readonly kind: SkillKind
  /** Its requirements, such as `tool:sql__query` or `plugin:http`. */
  readonly requires: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  /** `allowed-tools`, as written. Nothing is allowed by it. */
  readonly allowedTools?: string
  readonly metadata: Readonly<Record<string, string>>
  /** The whole front matter, also fields without effect here; absent if it was not valid YAML. */
  readonly frontMatter?: JsonObject
  /** Markdown, without the blank lines around it. */
  readonly body: string
}

/** A SKILL.md as it was read: `skill` is absent where it must not be loaded, which an `error` explains. */
export interface ReadSkill {
  readonly skill?: SkillText
  readonly diagnostics: readonly SkillDiagnostic[]
}

/** A skill with all of its files, as a deployment has it. */
export interface SkillSource extends Omit<SkillText, 'body' | 'metadata'> {
  /** sha-256 of all of its files. */
  readonly hash: string
  /** Absent: it ships with the deployment. */
  readonly tier?: TrustTier
  /** Text by path; `SKILL.md` is one of them. */
  readonly files: Readonly<Record<string, string>>
}

/** A persona as a model reads it. */
export interface Persona extends Pick<SkillSource, 'name' | 'hash'> {
  /** The text under the front matter of its SKILL.md. */
  readonly text: string
  /** The label of its words; the operator's if absent. */
  readonly label?: Label
}

/** Whether the caller has what a skill needs (`tool:sql__query`, `plugin:http`). May reject. */
export type IsThere = (requirement: string) => Promise<boolean>

/** The tool that a requirement names, or the owner of whose tools any will do. */
export const toRequired = (
  requirement: string,
): { readonly tool: string } | { readonly owner: string } => {
  const [kind, name = ''] = requirement.split(':')
  return kind === 'tool' ? { tool: name } : { owner: name }
}

/** A found skill as a model reads it before loading. */
export interface FoundSkill {
  readonly name: string
  readonly description: string
  /** The label of these words; the operator's if absent. */
  readonly label?: Label
}

/** The skill that a caller asked for by name; a `message` says why there is nothing to read. */
export type LoadedSkill =
  | {
      readonly ok: true
      readonly name: string
      readonly hash: string
      /** The trust tier of its author. */
      readonly tier: TrustTier
      /** The text of its instructions, or of the requested file. */
      readonly text: string
      readonly tokens: number
      /** Its other files, by path; empty if one of them was requested. */
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      readonly message: string
      /** The label of the words in the message; ours if absent. */
      readonly label?: Label
    }

/** A skill as an operator sees it. */
export interface SkillView extends Omit<
  SkillSource,
  'files' | 'allowedTools' | 'tier' | 'frontMatter'
> {
  /**
   * `gated`: a requirement is missing, so it is neither found nor loaded. The same holds for `installed`, which was
   * never enabled, and `disabled`. A persona is never found.
   */
  readonly state: 'ready' | 'gated' | 'installed' | 'disabled'
  readonly tier: TrustTier
  /** Of an installed skill: where it came from, and the name of the key that signed it. */
  readonly source?: string
  readonly signer?: string
  readonly installedBy?: string
  readonly installedAtMs?: number
  readonly missing: readonly string[]
  /** The estimated tokens that a model reads: where it is found, and where its instructions are loaded. */
  readonly tokens: { readonly found: number; readonly loaded: number }
}

/** A skill with the words of its author. */
interface ShownSkill extends SkillView, Pick<SkillSource, 'files' | 'frontMatter'> {
  /** The stored versions, newest first: an operator takes one of them by its hash. Absent of a skill that ships. */
  readonly versions?: readonly ListedSkillVersion[]
}

/** A version that came, in use or not. */
interface ListedSkillVersion {
  readonly hash: string
  readonly tier: TrustTier
  readonly source: string
  readonly installedBy: string
  readonly installedAtMs: number
}

/** The skills of a deployment: found, then loaded, then their files (docs/skills.md). */
export interface SkillLibrary {
  /** The best skills that fit: no persona, and none with a missing requirement. Rejects if skills cannot be read. */
  readonly find: (queries: readonly string[], isThere: IsThere) => Promise<readonly FoundSkill[]>
  /** All skills, by name. Rejects if skills cannot be read. */
  readonly list: (isThere: IsThere) => Promise<readonly SkillView[]>
  /** A skill with the words of its author. Rejects if skills cannot be read. */
  readonly show: (name: string, isThere: IsThere) => Promise<ShownSkill | undefined>
  /**
   * @param options.file One of its files; its instructions if absent.
   * @returns A refusal for a persona, and for a skill with a missing requirement. Rejects if skills cannot be read.
   */
  readonly load: (
    name: string,
    options: { readonly file?: string | undefined; readonly isThere: IsThere },
  ) => Promise<LoadedSkill>
  /**
   * A persona by its name, unless a requirement is missing. If no persona has the name: the names of the personas that
   * ship. Rejects if skills cannot be read.
   */
  readonly persona: (
    name: string,
    isThere: IsThere,
  ) => Promise<{
    readonly persona?: Persona
    readonly missing?: readonly string[]
    readonly names: readonly string[]
  }>
}

/**
 * The label of a skill's words. Enabling a community skill allows models to read it, but its author may not steer
 * effects: these need an approval.
 */
export const labelOfSkill = ({ tier, name }: { readonly tier: TrustTier; readonly name: string }) =>
  tier === 'community'
    ? labelFrom(`isola__load_skill ${name}`, { confidentiality: 'public' })
    : ownLabel

/** The part of the library that agents use. */
export type AgentSkills = Pick<SkillLibrary, 'find' | 'load'>

/** A file of a skill as others get it. */
export interface OutgoingFile {
  readonly path: string
  readonly text: string
  readonly mimeType: string
  /** The size of its text in UTF-8. `digest` is of the same: `sha256:` and 64 hex digits. */
  readonly sizeBytes: number
  readonly digest: string
}

/** A skill that may be handed out. */
export interface OutgoingSkill {
  readonly name: string
  readonly tier: TrustTier
  readonly description: string
  readonly frontMatter: JsonObject
  /** `SKILL.md` first, then the others by path. */
  readonly files: readonly OutgoingFile[]
}

/** A whole skill as one file: its SKILL.md if it has no other, else a zip. */
export interface SkillArtifact {
  readonly type: 'skill-md' | 'archive'
  /** `code-review/SKILL.md` or `plugin-authoring.zip`. */
  readonly path: string
  readonly mimeType: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The digest of `bytes`, as of a file. */
  readonly digest: string
}

/** Skills for other programs, to the byte as their authors wrote them. */
export interface SkillShelf {
  /**
   * The skills of these names that can be handed out, by name, and a sentence for each other on why it cannot. Their
   * requirements are not checked here. Rejects if skills cannot be read.
   */
  readonly outgoing: (names: readonly string[]) => Promise<{
    readonly skills: readonly OutgoingSkill[]
    readonly problems: readonly string[]
  }>
  readonly artifact: (skill: OutgoingSkill) => Promise<SkillArtifact>
}
