import type { JsonObject } from '#contracts/json.ts'
import { labelFrom, ownLabel, type Label } from '#contracts/label.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'

/** Of a persona; so much room has the prompt once nothing is pinned any more, also with narrow reading. */
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

/** What the front matter of a SKILL.md says, and the text under it. */
export interface SkillText {
  /** Lowercase letters, digits and hyphens, 64 at most; of a file that has none the folder's name. */
  readonly name: string
  /** What it does and when it is of use, at most 1,024 characters in a valid file. */
  readonly description: string
  readonly kind: SkillKind
  /** What must be there for it to work, such as `tool:sql__query` or `plugin:http`. */
  readonly requires: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  /** `allowed-tools`, as written. Nothing is allowed by it. */
  readonly allowedTools?: string
  readonly metadata: Readonly<Record<string, string>>
  /** All of the front matter, also what means nothing here; absent if it is no YAML as it was written. */
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
  /** Whose words it is; the operator's if absent. */
  readonly label?: Label
}

/** Whether the caller has what a skill needs (`tool:sql__query`, `plugin:http`). May reject. */
export type IsThere = (requirement: string) => Promise<boolean>

/** What a requirement names: a tool, or an owner of whose tools any will do. */
export const toRequired = (
  requirement: string,
): { readonly tool: string } | { readonly owner: string } => {
  const [kind, name = ''] = requirement.split(':')
  return kind === 'tool' ? { tool: name } : { owner: name }
}

/** What a model reads of a skill that fits, before it is loaded. */
export interface FoundSkill {
  readonly name: string
  readonly description: string
  /** Whose words these are; the operator's if absent. */
  readonly label?: Label
}

/** The skill that a caller asked for by name; a `message` says why there is nothing to read. */
export type LoadedSkill =
  | {
      readonly ok: true
      readonly name: string
      readonly hash: string
      /** Whose words it is. */
      readonly tier: TrustTier
      /** Of its instructions, or of the file that was asked for. */
      readonly text: string
      readonly tokens: number
      /** Its other files, by path; none are named where one of them was asked for. */
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      readonly message: string
      /** Whose words are in the message; ours if absent. */
      readonly label?: Label
    }

/** A skill as an operator sees it. */
export interface SkillView extends Omit<
  SkillSource,
  'files' | 'allowedTools' | 'tier' | 'frontMatter'
> {
  /**
   * `gated`: it requires what is not there, so that it is neither found nor loaded; no more is one that is `installed`,
   * which was never enabled, or `disabled`. A persona is never found.
   */
  readonly state: 'ready' | 'gated' | 'installed' | 'disabled'
  readonly tier: TrustTier
  /** Of one that was installed: where it came from, and the name of the key that signed it. */
  readonly source?: string
  readonly signer?: string
  readonly installedBy?: string
  readonly installedAtMs?: number
  readonly missing: readonly string[]
  /** What a model reads of it, as estimated: where it is found, and where its instructions are loaded. */
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
  /** The best of those that fit, never a persona, never one that lacks something. Rejects if skills cannot be read. */
  readonly find: (queries: readonly string[], isThere: IsThere) => Promise<readonly FoundSkill[]>
  /** All there are, by name. Rejects if skills cannot be read. */
  readonly list: (isThere: IsThere) => Promise<readonly SkillView[]>
  /** A skill with the words of its author. Rejects if skills cannot be read. */
  readonly show: (name: string, isThere: IsThere) => Promise<ShownSkill | undefined>
  /**
   * @param options.file One of its files; its instructions if absent.
   * @returns A refusal for a persona, and for one that lacks something. Rejects if skills cannot be read.
   */
  readonly load: (
    name: string,
    options: { readonly file?: string | undefined; readonly isThere: IsThere },
  ) => Promise<LoadedSkill>
  /**
   * A persona by its name, unless it is missing something; and the names of those that ship, where there is none of it of
   * all. Rejects if skills cannot be read.
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
 * Whose words what a skill says is. Enabling a community skill says that it may be read, not that its author may steer
 * what is done: that is asked about.
 */
export const labelOfSkill = ({ tier, name }: { readonly tier: TrustTier; readonly name: string }) =>
  tier === 'community'
    ? labelFrom(`isola__load_skill ${name}`, { confidentiality: 'public' })
    : ownLabel

/** What an agent has of them. */
export type AgentSkills = Pick<SkillLibrary, 'find' | 'load'>

/** A file of a skill as others get it. */
export interface OutgoingFile {
  readonly path: string
  readonly text: string
  readonly mimeType: string
  /** Of its text in UTF-8, as is `digest`: `sha256:` and 64 hex digits. */
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

/** All of a skill as one file: its SKILL.md if that is all, else a zip. */
export interface SkillArtifact {
  readonly type: 'skill-md' | 'archive'
  /** `code-review/SKILL.md` or `plugin-authoring.zip`. */
  readonly path: string
  readonly mimeType: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of `bytes`, as of a file. */
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
