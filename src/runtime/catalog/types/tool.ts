import type { ToolDefinition } from '#contracts/model.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { SearchHit } from '#contracts/search.ts'

/** A tool as clients see it, with the hints that the host goes by. */
export interface ListedTool extends ToolDefinition {
  readonly isReadOnly: boolean
  readonly isIdempotent: boolean
  readonly isDestructive: boolean | 'presumed'
}

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
