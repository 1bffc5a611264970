import { describe, expect, it } from 'vitest'
import { ownEvents } from '#contracts/event-bus.ts'
import {
  type Emitted,
  type SubscriptionOwner,
} from '../../../src/runtime/session/types/audit-sink.ts'
import type { SessionEvent } from '#contracts/event.ts'
import { ownLabel } from '#contracts/label.ts'
import { createEventNotes, forRecord } from '../../../src/runtime/session/upkeep/audit-outbox.ts'
import type { Todo } from '../../../src/runtime/session/storage/todo.ts'

const place = { run: 'run_a', agent: 'clerk', trace: 't'.repeat(32), atMs: 5 }
const emitted: SessionEvent = {
  ...place,
  seq: 3,
  type: 'event_emitted',
  data: {
    call: 'c',
    event: 'shop.paid',
    payload: { amount: 1 },
    payloadChars: 12,
    label: ownLabel,
  },
}
const finished: SessionEvent = {
  ...place,
  seq: 4,
  type: 'run_finished',
  data: { state: 'failed', turns: 2, code: 'model_failed', message: 'It said: no.', detail: 'x' },
}

function open({
  isChild = false,
  isAway = false,
  owners = ['principal:ada'] as readonly SubscriptionOwner[],
} = {}) {
  const [tells, asked]: [Parameters<Todo['addTells']>[0][], Emitted[]] = [[], []]
  /** Writes to the record, `?` for a write that lands only without a subscription. */
  const landed: string[] = []
  const chain = { cause: 'ses:1', depth: 1, via: ['sub_a'], maxDepth: 4, expiresAtMs: 9 }
  const session = { id: 'ses_a', principal: 'ada', ...(isChild && { lineage: {} }) }
  const append = async (unheard?: readonly Emitted[]) => {
    landed.push(unheard ? `? ${unheard.length}` : 'all')
    if (unheard && owners.length > 0) throw new Error('D1_ERROR: malformed JSON')
  }
  const notes = createEventNotes({
    bus: {
      async ownersOf(events) {
        if (isAway) throw new Error('D1_ERROR')
        asked.push(...events)
        return new Map(events.map(({ id }) => [id, owners]))
      },
      tell: async () => {},
    },
    store: {
      session: () => session as never,
      findRun: () => ({ submission: { chain } }) as never,
    },
    todo: { addTells: (told) => void tells.push(told) },
    onNoted: () => {},
  })
  const note = (events: readonly SessionEvent[]) => notes(events, append)
  return { tells, asked, note, landed }
}

describe('the events that are told of a log', () => {
  it('I4: Y28: are what plugins emitted, each with its place, its trace and its chain', async () => {
    const { tells, note } = open({ owners: ['principal:ada', 'plugin:shop'] })
    await note([emitted])
    expect(tells[0]?.owners).toEqual(['principal:ada', 'plugin:shop'])
    expect(tells[0]?.event).toMatchObject({
      id: 'ses_a:3',
      name: 'shop.paid',
      principal: 'ada',
      trace: place.trace,
      payload: { amount: 1 },
      chain: { depth: 1, via: ['sub_a'] },
    })
  })

  it('are of our own without a word that another principal may have written', async () => {
    const { asked, note } = open()
    await note([finished])
    expect(asked).toMatchObject([{ name: 'isola.run_finished', label: { integrity: 'data' } }])
    expect(asked[0]?.payload).toEqual({ state: 'failed', turns: 2, code: 'model_failed' })
  })

  it('are of each of our own kinds that a principal may subscribe to', async () => {
    const { asked, note } = open()
    const kinds = Object.keys(ownEvents)
    const data = {
      pauses: [{ call: 'c', tool: 't', kind: 'approval', label: ownLabel }],
      calls: [],
    }
    await note(kinds.map((type, seq) => ({ ...place, seq, type, data }) as unknown as SessionEvent))
    expect(asked.map(({ name }) => name)).toEqual(kinds.map((type) => `isola.${type}`))
    expect(asked[1]?.payload).toEqual({ pauses: [{ call: 'c', tool: 't', kind: 'approval' }] })
  })

  it('Y28: is of a sub-agent’s session what a plugin emitted and what its own sub-agents came to', async () => {
    const { asked, note } = open({ isChild: true })
    const data = { call: 'c', agent: 'worker', session: 'ses_b', state: 'completed', usage: {} }
    const result = { ...place, seq: 5, type: 'agent_result', data } as unknown as SessionEvent
    await note([finished, emitted, result])
    expect(asked.map(({ name }) => name)).toEqual(['shop.paid', 'isola.agent_result'])
    expect(asked[1]?.payload).toEqual({
      call: 'c',
      agent: 'worker',
      session: 'ses_b',
      state: 'completed',
    })
  })

  it('are looked up only where a subscription hears: the record says so in the same go', async () => {
    const quiet = open({ owners: [] })
    await quiet.note([emitted, finished])
    expect([quiet.landed, quiet.asked]).toEqual([['? 2'], []])
    const heard = open()
    await heard.note([emitted])
    expect(heard.landed).toEqual(['? 1', 'all'])
    expect(heard.asked).toHaveLength(1)
    const plain = open()
    await plain.note([{ ...finished, type: 'tool_log', data: { call: 'c' } } as SessionEvent])
    expect([plain.landed, plain.asked]).toEqual([['all'], []])
  })

  it('F10: is not passed over where it cannot be looked up who subscribes', async () => {
    await expect(open({ isAway: true }).note([emitted])).rejects.toThrow('D1_ERROR')
  })
})

describe('the record', () => {
  it('says that something was emitted, not what', () => {
    expect(forRecord(emitted).data).toEqual({
      call: 'c',
      event: 'shop.paid',
      payloadChars: 12,
      label: ownLabel,
    })
    expect(forRecord(finished)).toBe(finished)
  })
})
