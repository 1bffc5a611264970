/**
 * A resource of a plugin or a remote server: listed without running anything, and read by an ordinary tool
 * (`<owner>__read_resource { uri }`, for prompts `<owner>__get_prompt { name, arguments }`), so that no gate is
 * passed by
 * (docs/design.md invariant 4). Both answer a rich output (`content.ts`); a prompt has `structured: { messages }` as
 * well.
 */
export interface ResourceListing {
  /** The id of the plugin or server. */
  readonly owner: string
  /** A URI, or a URI template (RFC 6570) if `isTemplate`. */
  readonly uri: string
  readonly isTemplate: boolean
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

/** A prompt on offer, as a client's list shows it. */
export interface PromptListing {
  readonly owner: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments: readonly {
    readonly name: string
    readonly description?: string
    readonly required?: boolean
    /** Values that a client may suggest while the person types; any other value is as good. */
    readonly suggestions?: readonly string[]
  }[]
}

/** Resources and prompts together, of all owners. */
export interface Offers {
  readonly resources: readonly ResourceListing[]
  readonly prompts: readonly PromptListing[]
}
