import { callOf, eventVersion, type SessionEvent } from '#contracts/event.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'

/** A turn as its row has it. `v` is the version of what its events say; rows before there was one have none. */
type StoredTurn = TurnRecord & { readonly v?: number }

/** @see docs/decisions/0035-events-have-a-version.md */
export const toStoredTurn = (turn: TurnRecord): StoredTurn => ({ ...turn, v: eventVersion })

/**
 * The one place where events of an older version become those of this one. Those of a newer version, which a
 * deployment that was rolled back finds, are left as they are: what is added later, nobody here asks for.
 */
export function fromStoredTurn(stored: StoredTurn): TurnRecord {
  const { v = 1, ...turn } = stored
  if (v >= eventVersion) return turn
  return { ...turn, events: turn.events.map((event) => fromFirst(event, turn)) }
}

/** What the first version had not from the beginning is in the row all the same. */
function fromFirst(event: SessionEvent, { calls, final, turn }: TurnRecord): SessionEvent {
  const record = calls.find(({ id }) => id === callOf(event))
  switch (event.type) {
    case 'tool_started': {
      const inputChars = record ? JSON.stringify(record.input).length : 0
      return { ...event, data: withDefaults(event.data, { inputChars, definitionHash: '' }) }
    }
    case 'tool_finished': {
      const { outcome } = record ?? {}
      const output = outcome && (outcome.ok ? outcome.output : outcome.error)
      const outputChars = output === undefined ? 0 : JSON.stringify(output).length
      return { ...event, data: withDefaults(event.data, { outputChars }) }
    }
    case 'run_finished':
      return { ...event, data: withDefaults(event.data, { turns: final?.steps ?? turn }) }
    default:
      return event
  }
}

/** What is there stays; of the rest the type is wrong about an old row. */
const withDefaults = <Data extends object>(data: Data, defaults: Partial<Data>): Data => ({
  ...defaults,
  ...data,
})
