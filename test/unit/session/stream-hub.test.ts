import { describe, expect, it } from 'vitest'
import type { ToldEvent } from '#contracts/event.ts'
import { logOf } from '../../fakes/log.ts'
import { createStreamHub } from '../../../src/runtime/session/log/stream-hub.ts'
import { toldEvent } from '../../fakes/events.ts'

const eventOf = (seq: number, output = ''): ToldEvent =>
  toldEvent({
    seq,
    run: 'run_1',
    agent: 'orchestrator',
    trace: 'a'.repeat(32),
    atMs: 0,
    type: 'tool_finished',
    data: { output },
  })

/** The seqs a reader gets until its stream ends. */
async function seqsOf(stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const text = await new Response(stream).text()
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as ToldEvent).seq)
}

describe('a stream hub', () => {
  it('ends its readers when what was written could not be made durable', async () => {
    const hub = createStreamHub(async () => {
      throw new Error('disk')
    })
    const streams = [{}, { run: 'run_1' }].map((which) =>
      hub.attach({ afterSeq: 0, follow: true, ...logOf([eventOf(1)]), ...which }),
    )
    hub.publish([eventOf(2)])
    expect(await Promise.all(streams.map(seqsOf))).toEqual([[1], [1]])
    expect(hub.hasReaders()).toBe(false)
  })

  it('tells every reader that a run has begun, but not who began it', async () => {
    const hub = createStreamHub(async () => {})
    const about = { run: 'run_1', agent: 'orchestrator', trace: 'a'.repeat(32), atMs: 0 }
    const begun = toldEvent({
      ...about,
      seq: 1,
      type: 'run_started',
      data: { principal: 'p', depth: 0 },
    })
    const streams = [{}, { isBeginner: true }].map((which) =>
      hub.attach({ afterSeq: 0, follow: true, ...logOf([]), ...which }),
    )
    hub.publish([begun])
    hub.publish([eventOf(2)])
    hub.rest()
    expect(await Promise.all(streams.map(seqsOf))).toEqual([[1, 2], [2]])
  })

  it('lets the text of a run pass to the beginner of it without a wait for the disk', async () => {
    let syncs = 0
    const hub = createStreamHub(() => ((syncs += 1), new Promise<void>(() => {})))
    const about = { run: 'run_1', agent: 'orchestrator', trace: 'a'.repeat(32), atMs: 0 }
    const data = { principal: 'p', depth: 0 }
    const begun = toldEvent({ ...about, seq: 1, type: 'run_started', data })
    const beginner = { run: 'run_1', isBeginner: true, afterSeq: 0, follow: true }
    const stream = hub.attach({ id: 'r', ...beginner, ...logOf([]) })
    const other = hub.attach({ id: 'o', ...beginner, run: 'run_0', ...logOf([]) })
    hub.publish([begun])
    hub.delta({ type: 'message_delta', run: 'run_1', turn: 1, text: 'Hi', offset: 0 })
    expect(syncs).toBe(0)
    hub.publish([eventOf(2)])
    await Promise.resolve()
    expect(syncs).toBe(1)
    hub.detach('r')
    hub.detach('o')
    expect(await new Response(stream).text()).toContain('"text":"Hi"')
    expect(await new Response(other).text()).toBe('')
  })

  it('lets no text pass to another reader before the event in front of it is on the disk', async () => {
    const hub = createStreamHub(() => new Promise<void>(() => {}))
    const about = { run: 'run_1', agent: 'orchestrator', trace: 'a'.repeat(32), atMs: 0 }
    const data = { principal: 'p', depth: 0 }
    const beginner = { run: 'run_1', isBeginner: true, afterSeq: 0, follow: true }
    const streams = [beginner, { run: 'run_1', afterSeq: 0, follow: true }].map((reader) =>
      hub.attach({ id: 'r', ...reader, ...logOf([]) }),
    )
    hub.publish([toldEvent({ ...about, seq: 1, type: 'run_started', data })])
    hub.delta({ type: 'message_delta', run: 'run_1', turn: 1, text: 'Hi', offset: 0 })
    await Promise.resolve()
    hub.detach('r')
    const texts = await Promise.all(streams.map((stream) => new Response(stream).text()))
    expect(texts).toEqual(['', ''])
  })

  it('serves who comes back after a write that could not be made durable', async () => {
    let syncs = 0
    const hub = createStreamHub(async () => {
      if ((syncs += 1) === 1) throw new Error('disk')
    })
    const lost = hub.attach({ afterSeq: 0, follow: true, ...logOf([]) })
    hub.publish([eventOf(1)])
    expect(await seqsOf(lost)).toEqual([])
    const back = hub.attach({ afterSeq: 0, follow: true, ...logOf([eventOf(1)]) })
    hub.publish([eventOf(2)])
    hub.rest()
    expect(await seqsOf(back)).toEqual([1, 2])
  })

  it('gives a reader a whole log of more than 5 MiB, and what is published meanwhile', async () => {
    const hub = createStreamHub(async () => {})
    const output = 'x'.repeat(24_000)
    const log = Array.from({ length: 250 }, (_, index) => eventOf(index + 1, output))
    const stream = hub.attach({ afterSeq: 0, follow: true, ...logOf(log) })
    log.push(eventOf(251, output))
    hub.publish(log.slice(-1))
    hub.rest()
    const all = Array.from({ length: 251 }, (_, index) => index + 1)
    expect(await seqsOf(stream)).toEqual(all)
  })

  it('F28: holds a few events for a reader who does not read, and reads the log on when it does', async () => {
    const hub = createStreamHub(async () => {})
    const log: ToldEvent[] = []
    const asked: number[] = []
    const stream = hub.attach({
      afterSeq: 0,
      follow: true,
      upTo: 0,
      read(after, upTo) {
        asked.push(after)
        return log.filter(({ seq }) => seq > after && seq <= upTo).slice(0, 50)
      },
    })
    for (let seq = 1; seq <= 1_000; seq += 1) {
      log.push(eventOf(seq, 'x'.repeat(1_000)))
      hub.publish(log.slice(-1))
    }
    await new Promise((resolve) => setImmediate(resolve))
    // Nothing was read yet, so all but the first few are in the log alone.
    expect(asked).toEqual([])
    hub.rest()
    expect(await seqsOf(stream)).toEqual(log.map(({ seq }) => seq))
    expect(asked[0]).toBeLessThanOrEqual(66)
    expect(hub.hasReaders()).toBe(false)
  })
})
