import type { MoreTools, ToolEntry, Toolset } from '#contracts/tool.ts'

/** Builds the tools of one agent (the catalog room). */
export type BuildToolset = (
  entries: readonly ToolEntry[],
  options: {
    /** Adds the core tools; only the orchestrator has them. */
    readonly core: 'with-core-tools' | 'without-core-tools'
    readonly isPinned: (entry: ToolEntry) => boolean
    readonly beyond?: MoreTools | undefined
    /** Runs the code that the agent writes in place of calling its tools. */
    readonly code?: ToolEntry | undefined
    /** Results that a stranger can have written stay behind handles; a reader on this model answers about them. */
    readonly narrowReading?: { readonly model: string | undefined } | undefined
    /** It may keep drafts of skills. */
    readonly emitsSkills?: boolean | undefined
  },
) => Toolset & { readonly problems: readonly { readonly tool: string; readonly message: string }[] }
