import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { PinnedTool } from '#runtime/kernel/types/agent-pin.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'
import type { ReadyAgent } from '../types/runtime.ts'
import { createFloorCalls, withFloor } from '../floor/floors.ts'
import { fullEvents } from '../log/log-view.ts'
import { childrenIn, type BegunChild, type ChildNames } from '../storage/children.ts'
import { childIdOf } from '../storage/ids.ts'
import { persistRun, type Run, type RunParts } from './live-runs.ts'
import type { RunBill } from './run-bill.ts'
import { isLastTurn, writeEnd } from './run-end.ts'

/** An error cuts longer definitions. */
const maxShownChars = 16_000

/** The tool definitions that a run knows: from its beginning, its first call of a tool, or its last look at one. */
type KnownTools = ReturnType<typeof createKnownTools>

export function createKnownTools(
  { finder }: Pick<Toolset, 'finder'>,
  pinned: readonly PinnedTool[] = [],
) {
  const hashes = new Map(pinned.flatMap(({ name, hash }) => (hash ? [[name, hash] as const] : [])))
  const underWay = new Set<string>()
  const note = ({ calls }: TurnRecord) => {
    for (const { tool, definitionHash, outcome } of calls) {
      if (definitionHash !== '' && !hashes.has(tool)) hashes.set(tool, definitionHash)
      for (const [name, hash] of Object.entries(outcome?.shows ?? {})) hashes.set(name, hash)
    }
  }
  return {
    /** Learns from a turn when it is written. */
    note,
    /**
     * Learns from the stored turns of the run. A call of theirs that is under way goes on, even if its tool has
     * changed.
     */
    takeUp: (turns: readonly TurnRecord[]) => {
      turns.forEach(note)
      // Another session may work for such a call: that work, and its cost, would be lost if the call were not made
      // again.
      for (const { id, outcome, pause, reserved } of turns.at(-1)?.calls ?? [])
        if (!outcome && !pause && reserved) underWay.add(id)
    },
    refuse: (call: string, { tool, definitionHash }: ToolEntry): ToolResult | undefined => {
      // Without the finder the run could not look at any tool again.
      if (tool.name === finder) return undefined
      const known = hashes.get(tool.name)
      if (known === undefined || known === definitionHash || underWay.has(call)) return undefined
      return finder === undefined
        ? changed(`${changedText(tool.name)} ${shownText(tool)}`, { [tool.name]: definitionHash })
        : changed(
            `${changedText(tool.name)} Look for "${tool.name}" with ` +
              `${finder}: once you have seen what it is now, you may call it.`,
          )
    },
  }
}

const changed = (message: string, shows?: ToolResult['shows']): ToolResult => {
  return { ok: false, error: { code: 'tool_changed', message }, ...defined({ shows }) }
}

const changedText = (name: string): string =>
  `The tool "${name}" changed after this task began, so this call was not made.`

/** An agent without a finder sees the new definition in the error. */
function shownText({ description, inputSchema }: ToolEntry['tool']): string {
  const text = headOf(JSON.stringify({ description, input_schema: inputSchema }), maxShownChars)
  return `What it is now: ${text} You may call it as that.`
}

interface RunJournalOptions {
  readonly run: Run
  readonly toolset: ReadyAgent['toolset']
  /** The turns of the run as they were stored when the segment began. */
  readonly turns: readonly TurnRecord[]
  readonly bill: RunBill
  readonly known: KnownTools | undefined
}

/** Stores the turns that the kernel makes in one segment of a run. */
export function createRunJournal(options: RunJournalOptions, parts: RunParts) {
  const { run, turns, bill, known } = options
  const { store, hub, live, sync } = parts
  const childNotes = createChildNotes(options, parts)
  const floorCalls = createFloorCalls()
  // A resumed turn has events that the stream has sent already.
  let published = turns.at(-1)?.events.at(-1)?.seq ?? 0
  let failure: unknown
  let last: TurnRecord | undefined
  return {
    sync,
    /** The last turn as it was stored: with its platform amounts. */
    last: () => last,
    load: () => {
      turns.forEach(floorCalls.note)
      known?.takeUp(turns)
      if (turns.length > 0) childNotes.note(turns.at(-1)!)
      return turns
    },
    write: (turn: TurnRecord) => {
      // No turn is left out of the record: the segment ends, and the run is taken up again.
      if (failure !== undefined) throw failure
      try {
        persistRun(run, parts)
        const { turn: stored, write } = withFloor(
          run.row,
          bill.into(turn),
          { ...parts, nextSeq: live.nextSeq },
          floorCalls.before(turn),
        )
        last = stored
        if (isLastTurn(stored)) write(() => writeEnd(run.row, stored, parts))
        else store.writeTurn(run.row.order, stored, childNotes.begunIn(turn))
        floorCalls.note(turn)
        known?.note(turn)
      } catch (error) {
        bill.undo()
        failure = error
        throw error
      }
    },
    /** Tells the readers of the stream about a turn that was written. */
    publish: (turn: TurnRecord) => {
      const told = last ?? turn
      hub.publish(fullEvents(told).filter((event) => event.seq > published))
      published = told.events.at(-1)?.seq ?? published
    },
  }
}

/** Notes the child sessions that the turns of a run begin. */
function createChildNotes(
  { run, toolset }: RunJournalOptions,
  { runtime, children, identity }: RunParts,
) {
  const { order } = run.row
  const names: ChildNames = {
    sessionOf: (call) => childIdOf({ session: identity.id, run: run.id, call }, runtime.sha256),
    agentOf: (name, input) => {
      // Only the handoff agent knows its session, and its call names it when it begins.
      if (run.row.passedOn) return undefined
      const resolved = toolset.resolve(name, input)
      const { agent } = resolved?.entry ?? {}
      return agent === undefined
        ? undefined
        : { agent, isBackground: resolved!.input['background'] === true }
    },
  }
  const begunBy = (turn: TurnRecord) => childrenIn(turn, names)
  /** The noted children of the open turn. */
  let noted: { readonly turn: number; readonly begun: readonly BegunChild[] } | undefined
  return {
    /** Takes up a stored turn. */
    note: (turn: TurnRecord): void => {
      noted = { turn: turn.turn, begun: children.ofTurn(order, turn.turn) }
    },
    /** All children of this turn if some are not noted yet: they are written with it. */
    begunIn: (turn: TurnRecord): readonly BegunChild[] | undefined => {
      const before = noted?.turn === turn.turn ? noted.begun : []
      const known = new Set(before.map(({ session }) => session))
      const more = begunBy(turn).filter(({ session }) => !known.has(session))
      if (more.length === 0) return undefined
      noted = { turn: turn.turn, begun: [...before, ...more] }
      return noted.begun
    },
  }
}
