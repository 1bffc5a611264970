/** What is wrong, or of no use, in a SKILL.md. */
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
  /** Markdown, without the blank lines around it. */
  readonly body: string
}

/** A SKILL.md as it was read: `skill` is absent where it must not be loaded, which an `error` explains. */
export interface ReadSkill {
  readonly skill?: SkillText
  readonly diagnostics: readonly SkillDiagnostic[]
}
