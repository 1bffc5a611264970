import type { ToolEntry } from '#contracts/tool.ts'
import type { SearchHit } from '#contracts/search.ts'

/** The tools of a set that are not in it from the start: each is looked up when it is named. */
export interface MoreTools {
  /** Looks up the tools of these names. Rejects if nobody can be asked. */
  readonly ready: (names: readonly string[]) => Promise<void>
  /** One that was looked up. */
  readonly entry: (name: string) => ToolEntry | undefined
  /** Whether an owner that was looked up, by the name of any tool of its, has tools here. */
  readonly owns: (id: string) => boolean
  /** The best of all there are, those of the set included. Rejects if nobody can be asked. */
  readonly search: (queries: readonly string[], limit: number) => Promise<readonly SearchHit[]>
  /** What is somebody's own, in no search of everybody's. Rejects if nobody can be asked. */
  readonly own?: ((principal: string) => Promise<readonly ToolEntry[]>) | undefined
}
