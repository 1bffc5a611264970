import { headOf } from '#contracts/cut.ts'
import type { PinnedTool } from '#runtime/kernel/types/agent-pin.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'

/** A definition longer than this is not shown whole in an error. */
const maxShownChars = 16_000

/** What a run knows of its tools: as it was begun with them, called them first, or saw them again since. */
export interface KnownTools {
  /** Takes up the turns of before: what was begun there is found again, whatever it is called now. */
  readonly takeUp: (turns: readonly TurnRecord[]) => void
  /** Learns what a turn shows, as it is written. */
  readonly note: (turn: TurnRecord) => void
  readonly refuse: NonNullable<Toolset['refuse']>
}

export function createKnownTools(
  { finder }: Pick<Toolset, 'finder'>,
  pinned: readonly PinnedTool[] = [],
): KnownTools {
  const hashes = new Map(pinned.flatMap(({ name, hash }) => (hash ? [[name, hash] as const] : [])))
  const underWay = new Set<string>()
  const note = ({ calls }: TurnRecord) => {
    for (const { tool, definitionHash, outcome } of calls) {
      if (definitionHash !== '' && !hashes.has(tool)) hashes.set(tool, definitionHash)
      for (const [name, hash] of Object.entries(outcome?.shows ?? {})) hashes.set(name, hash)
    }
  }
  return {
    note,
    takeUp(turns) {
      turns.forEach(note)
      // What works elsewhere for such a call would be lost, with all that it spends, if the call were not made again.
      for (const { id, outcome, pause, reserved } of turns.at(-1)?.calls ?? [])
        if (!outcome && !pause && reserved) underWay.add(id)
    },
    refuse(call, { tool, definitionHash }) {
      // Nothing else could be looked at again.
      if (tool.name === finder) return undefined
      const known = hashes.get(tool.name)
      if (known === undefined || known === definitionHash || underWay.has(call)) return undefined
      return finder === undefined
        ? changed(`${changedText(tool.name)} ${shownText(tool)}`, { [tool.name]: definitionHash })
        : changed(
            `${changedText(tool.name)} Look for "${tool.name}" with ${finder}: once you have seen what it is now, you may call it.`,
          )
    },
  }
}

const changed = (message: string, shows?: ToolResult['shows']): ToolResult => {
  return { ok: false, error: { code: 'tool_changed', message }, ...(shows && { shows }) }
}

const changedText = (name: string): string =>
  `The tool "${name}" changed after this task began, so this call was not made.`

/** Whoever has nothing to look with sees it here. */
function shownText({ description, inputSchema }: ToolEntry['tool']): string {
  const text = headOf(JSON.stringify({ description, input_schema: inputSchema }), maxShownChars)
  return `What it is now: ${text} You may call it as that.`
}
