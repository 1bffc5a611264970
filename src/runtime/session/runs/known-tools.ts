import { headOf } from '#contracts/cut.ts'
import type { PinnedTool } from '#runtime/kernel/types/agent-pin.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'

/** An error cuts longer definitions. */
const maxShownChars = 16_000

/** The tool definitions that a run knows: from its beginning, its first call of a tool, or its last look at one. */
export interface KnownTools {
  /** Learns from the stored turns of the run. A call of theirs that is under way goes on, even if its tool has changed. */
  readonly takeUp: (turns: readonly TurnRecord[]) => void
  /** Learns from a turn when it is written. */
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
      // Another session may work for such a call: that work, and its cost, would be lost if the call were not made again.
      for (const { id, outcome, pause, reserved } of turns.at(-1)?.calls ?? [])
        if (!outcome && !pause && reserved) underWay.add(id)
    },
    refuse(call, { tool, definitionHash }) {
      // Without the finder the run could not look at any tool again.
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

/** An agent without a finder sees the new definition in the error. */
function shownText({ description, inputSchema }: ToolEntry['tool']): string {
  const text = headOf(JSON.stringify({ description, input_schema: inputSchema }), maxShownChars)
  return `What it is now: ${text} You may call it as that.`
}
