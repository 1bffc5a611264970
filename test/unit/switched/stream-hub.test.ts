import { describe, expect, it } from 'vitest'
import type { EventType, ToldEvent, StreamItem } from '#contracts/event.ts'
import { logOf } from '../../fakes/log.ts'
import { createStreamHub } from '../../../src/runtime/session/log/stream-hub.ts'
import { toldEvent } from '../../fakes/events.ts'

const eventOf = (seq: number, type: EventType = 'tool_finished'): ToldEvent =>
  toldEvent({
    seq,
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'a'.repeat(32),
    atMs: 0,
    type,
    data: {},
  })

/** What a reader has got, as it comes: the place of an event, the text of a delta. */
function follow(stream: ReadableStream<Uint8Array>) {
  const seen: (number | string)[] = []
  const done = (async () => {
    for await (const bytes of stream) {
      for (const line of new TextDecoder().decode(bytes).split('\n').filter(Boolean)) {
        const item = JSON.parse(line) as StreamItem
        seen.push('seq' in item ? item.seq : item.text)
      }
    }
  })()
  return { seen, done }
}
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** A hub whose disk is as slow as the test wants. */
function setUp() {
  const disk = Promise.withResolvers<void>()
  const hub = createStreamHub(() => disk.promise)
  const reader = follow(hub.attach({ afterSeq: 0, run: 'run_1', follow: true, ...logOf([]) }))
  return { hub, reader, disk }
}
const delta = (text: string) =>
  ({ type: 'message_delta', run: 'run_1', turn: 2, offset: 0, text }) as const

describe('a live reader', () => {
  it('hears of an event only after it is durable (docs/reliability.md F4)', async () => {
    const { hub, reader, disk } = setUp()
    hub.publish([eventOf(1)])
    await tick()
    expect(reader.seen).toEqual([])
    disk.resolve()
    hub.publish([eventOf(2, 'run_finished')])
    await reader.done
    expect(reader.seen).toEqual([1, 2])
  })

  it('hears no text before an event that happened before it', async () => {
    const { hub, reader, disk } = setUp()
    hub.publish([eventOf(1)])
    hub.delta(delta('later'))
    await tick()
    expect(reader.seen).toEqual([])
    disk.resolve()
    hub.publish([eventOf(2, 'run_finished')])
    await reader.done
    expect(reader.seen).toEqual([1, 'later', 2])
  })

  it('hears nothing twice that is in the log and was published meanwhile', async () => {
    const hub = createStreamHub(async () => {})
    const backlog = [eventOf(1), eventOf(2)]
    const reader = follow(
      hub.attach({ afterSeq: 1, run: 'run_1', follow: true, ...logOf(backlog) }),
    )
    backlog.push(eventOf(3, 'run_finished'))
    hub.publish(backlog.slice(1))
    await reader.done
    expect(reader.seen).toEqual([2, 3])
  })
})
