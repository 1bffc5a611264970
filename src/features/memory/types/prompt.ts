/** A prompt with variables (C4). `{{ name }}`, Jinja syntax. */
export interface PromptTemplate {
  readonly id: string
  readonly version: string
  readonly text: string
  /** Rendering without one of these is an error that names it. */
  readonly requiredVars: readonly string[]
  readonly engine: 'jinja'
  readonly metadata: Readonly<Record<string, string>>
  readonly createdBy: string
}

/** A prompt with its variables filled in, and which template and version it is of. */
export interface RenderedPrompt {
  readonly text: string
  readonly template: string
  readonly version: string
  readonly estimatedTokens: number
}

/** Keeps templates by id and version (I22). Unknown and missing variables are errors, never blanks. */
export interface PromptStore {
  readonly get: (id: string, version?: string) => PromptTemplate | undefined
  readonly list: () => readonly PromptTemplate[]
  /** A new version of an id; the same version twice with another text is refused. */
  readonly put: (template: PromptTemplate) => void
  /** Throws `plugin_prompt_invalid` with what is wrong. */
  readonly validate: (template: PromptTemplate) => void
  readonly render: (
    id: string,
    variables: Readonly<Record<string, unknown>>,
    version?: string,
  ) => RenderedPrompt
}
