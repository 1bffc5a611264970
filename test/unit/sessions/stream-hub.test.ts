import { describe, expect, it } from 'vitest'
import type { ToldEvent } from '#contracts/event.ts'
import { createStreamHub } from '../../../src/sessions/log/stream-hub.ts'
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
      hub.attach({ afterSeq: 0, follow: true, backlog: [eventOf(1)], ...which }),
    )
    hub.publish([eventOf(2)])
    expect(await Promise.all(streams.map(seqsOf))).toEqual([[1], [1]])
    expect(hub.hasReaders()).toBe(false)
  })

  it('serves who comes back after a write that could not be made durable', async () => {
    let syncs = 0
    const hub = createStreamHub(async () => {
      if ((syncs += 1) === 1) throw new Error('disk')
    })
    const lost = hub.attach({ afterSeq: 0, follow: true, backlog: [] })
    hub.publish([eventOf(1)])
    expect(await seqsOf(lost)).toEqual([])
    const back = hub.attach({ afterSeq: 0, follow: true, backlog: [eventOf(1)] })
    hub.publish([eventOf(2)])
    hub.rest()
    expect(await seqsOf(back)).toEqual([1, 2])
  })

  it('gives a reader a whole log of more than 5 MiB, and what is published meanwhile', async () => {
    const hub = createStreamHub(async () => {})
    const output = 'x'.repeat(24_000)
    const backlog = Array.from({ length: 250 }, (_, index) => eventOf(index + 1, output))
    const stream = hub.attach({ afterSeq: 0, follow: true, backlog })
    hub.publish([eventOf(251, output)])
    hub.rest()
    const all = Array.from({ length: 251 }, (_, index) => index + 1)
    expect(await seqsOf(stream)).toEqual(all)
  })
})
