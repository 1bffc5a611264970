import { describe, expect, it } from 'vitest'
import { createClient, type EventsOptions } from '../../../src/client/client.ts'

const event = (seq: number, type = 'turn_started', run = 'run_1') =>
  `id: ${run}:${seq}\nevent: ${type}\ndata: ${JSON.stringify({ type, run, seq, data: {} })}\n\n`

type Answer = string | Response | (() => Response)

/** What a client sees of a session whose connections are these, one after the other. */
async function follow(answers: readonly Answer[], options: EventsOptions = {}) {
  const asked: { url: string; from: string | undefined }[] = []
  const broken: unknown[] = []
  const rest = [...answers]
  const client = createClient({
    url: 'https://isola.example',
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers)
      asked.push({ url: String(url), from: headers.get('last-event-id') ?? undefined })
      const answer = rest.shift()
      if (answer === undefined) throw new TypeError('fetch failed')
      if (typeof answer === 'string') return new Response(answer)
      return answer instanceof Response ? answer : answer()
    },
  })
  const seen: (number | string)[] = []
  let error: unknown
  try {
    for await (const item of client.events('ses_1', {
      sleep: async () => {},
      onBroken: (why) => void broken.push(why),
      ...options,
    }))
      seen.push('seq' in item ? item.seq : item.type)
  } catch (caught) {
    error = caught
  }
  return { seen, asked, broken, error }
}

/** A body that breaks off after this text. */
const breaking = (text: string) =>
  new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => controller.error(new Error('reset')),
    }),
  )

describe('the events of a session', () => {
  it('come once and in order over connections that break, in the middle of one too', async () => {
    const { seen, asked, broken } = await follow(
      [
        breaking(event(1) + event(2) + 'id: run_1:3\nevent: turn_st'),
        new Response('', { status: 503 }),
        event(2) + event(3) + event(4, 'run_finished'),
      ],
      { run: 'run_1' },
    )
    expect(seen).toEqual([1, 2, 3, 4])
    expect(asked.map(({ from }) => from)).toEqual([undefined, '2', '2'])
    expect(asked[0]?.url).toBe('https://isola.example/api/sessions/ses_1/events?run=run_1')
    expect(broken).toMatchObject([{ message: 'reset' }, { status: 503 }])
  })

  it('go on after the cursor, which is moved along', async () => {
    const cursor = { seq: 4 }
    const { seen, asked } = await follow([event(5, 'run_parked')], { run: 'run_1', cursor })
    expect({ seen, cursor, from: asked[0]?.from }).toEqual({
      seen: [5],
      cursor: { seq: 5 },
      from: '4',
    })
  })

  it.each([undefined, 'run_1'])(
    'go on where a stream ends while a run is at work (run: %s)',
    async (run) => {
      const options = run === undefined ? {} : { run }
      const { seen, asked, error } = await follow(
        [event(1), '', event(2, 'model_called'), event(3, 'run_finished')],
        options,
      )
      expect({ seen, error }).toEqual({ seen: [1, 2, 3], error: undefined })
      expect(asked.map(({ from }) => from)).toEqual([undefined, '1', '1', '2'])
      const parked = await follow([event(1) + event(2, 'run_parked')], options)
      expect([parked.seen, parked.error]).toEqual([[1, 2], undefined])
    },
  )

  it('of a session end once none of its runs is at work, and where the server keeps saying nothing', async () => {
    const two = event(1) + event(2, 'run_started', 'run_2') + event(3, 'run_finished', 'run_2')
    const { seen, asked } = await follow([two, event(4, 'run_finished')])
    expect([seen, asked.length]).toEqual([[1, 2, 3, 4], 2])
    expect(await follow([event(1), '', '', '', ''])).toMatchObject({ seen: [1], error: undefined })
    expect(await follow([event(1, 'pause_answered'), ''])).toMatchObject({ error: undefined })
  })

  it('are asked for once where they cannot be asked for', async () => {
    let waits = 0
    const client = createClient({ url: 'https://isola.example', fetch: async () => new Response() })
    const sleep = async () => void (waits += 1)
    await expect(client.events('', { sleep }).next()).rejects.toThrow('id must name something')
    expect(waits).toBe(0)
  })

  it('end with the reason of the signal, while it reads and while it waits', async () => {
    const reading = new AbortController()
    const hanging = (init: RequestInit = {}) =>
      new Response(
        new ReadableStream({
          start: (controller) =>
            init.signal?.addEventListener('abort', () => controller.error(new Error('cut'))),
        }),
      )
    const client = createClient({
      url: 'https://isola.example',
      fetch: async (_url, init) => {
        queueMicrotask(() => reading.abort('enough'))
        return hanging(init)
      },
    })
    await expect(client.events('ses_1', { signal: reading.signal }).next()).rejects.toBe('enough')
    const waiting = new AbortController()
    const sleep = () => {
      waiting.abort('enough')
      return new Promise<void>(() => {})
    }
    const { error } = await follow([breaking('')], { signal: waiting.signal, sleep })
    expect(error).toBe('enough')
  })

  it('go on after an error of the stream itself', async () => {
    const wrong = `event: error\ndata: ${JSON.stringify({ error: { code: 'request_unavailable', message: 'It broke off.' } })}\n\n`
    const { seen, broken } = await follow([event(1) + wrong, event(2, 'run_finished')], {
      run: 'run_1',
    })
    expect(seen).toEqual([1, 2])
    expect(broken).toMatchObject([{ code: 'request_unavailable', message: 'It broke off.' }])
  })

  it('end with a refusal, and where there is nothing to tell', async () => {
    const refused = await follow([
      Response.json({ error: { code: 'request_not_found' } }, { status: 404 }),
    ])
    expect(refused.error).toMatchObject({ status: 404, code: 'request_not_found' })
    expect(await follow([''], { run: 'run_1' })).toMatchObject({ seen: [], error: undefined })
    expect((await follow([event(1)], { follow: false })).asked[0]?.url).toContain('?follow=false')
  })

  it('end with the last fault where a server stays away', async () => {
    const { error, asked } = await follow([])
    expect(error).toMatchObject({ code: 'no_answer' })
    expect(asked).toHaveLength(21)
  })

  it('are cut off where the reader stops', async () => {
    let isCancelled = false
    const endless = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event(1))),
      cancel: () => void (isCancelled = true),
    })
    const client = createClient({
      url: 'https://isola.example',
      fetch: async () => new Response(endless),
    })
    for await (const item of client.events('ses_1')) {
      expect(item).toMatchObject({ seq: 1 })
      break
    }
    expect(isCancelled).toBe(true)
  })
})
