import { describe, expect, it } from 'vitest'
import { reasonsOf } from '../../../src/platform/models/openai/reply-assembly.ts'
import { ask, bothWays, chunk, done, ended, event, resets, text, whole } from './replies.ts'

const empty = (content: string) => chunk({ content }, '')

describe('A06: an answer that broke off in the middle passed for whole', () => {
  const half = ['The answer', ' is ', '4'].map(empty).join('')
  it.each<[string, readonly (string | typeof resets)[]]>([
    ['"" in every piece, then a reset', [half, resets]],
    ['"" in every piece, then an early end', [half]],
    ['"" in every piece, then [DONE]', [half, done]],
    ['blanks for a reason', [chunk({ content: 'The answer is 4' }, '  '), resets]],
    ['"null" as a text, as DashScope writes it', [chunk({ content: 'The answer is 4' }, 'null')]],
    ['"None" as a text', [chunk({ content: 'The answer is 4' }, 'None'), resets]],
    ['no reason at all', [text('The answer is 4'), resets]],
    ['false for a reason', [chunk({ content: 'The answer is 4' }, false)]],
    ['a chunk cut in two', [half, chunk({ content: '2' }, 'stop').slice(0, -30)]],
  ])('%s', async (_what, body) => {
    const { error, reply, seen } = await ask({ body })
    expect(reply).toBeUndefined()
    expect(error).toMatchObject({ code: 'model_network', transient: true })
    expect(seen).toBe('The answer is 4')
  })

  it('and so did one in one piece that gave no reason', async () => {
    for (const reason of ['', null, 'null', false]) {
      const body = whole({ content: 'The answer is' }, reason)
      const said = { body, type: 'application/json' }
      const { error } = await ask(said, { call: { isUnwatched: true } })
      expect(error?.code).toBe('model_network')
    }
  })

  it('a reason after empty ones is one', async () => {
    const { reply } = await ask({ body: empty('4') + chunk({ content: '' }, 'stop') + done })
    expect(reply).toMatchObject({ text: '4', finishReason: 'stop' })
  })
})

describe.each(['streamed', 'whole'])('A07: a reason that is no end was one, %s', (way) => {
  const say = async (reason: unknown, message: object = { content: 'Once upon' }) => {
    const [, said, call] = bothWays(message, reason).find(([name]) => name === way)!
    return ask(said, { call })
  }

  it.each([
    'length',
    'max_tokens',
    'MAX_TOKENS',
    'model_length',
    'max_output_tokens',
    'FINISH_REASON_MAX_TOKENS',
    'model_context_window_exceeded',
    'ERROR_LIMIT',
    'max-tokens',
  ])('%s is a length', async (reason) => {
    const { reply } = await say(reason)
    expect(reply).toMatchObject({ text: 'Once upon', finishReason: 'length' })
  })

  it.each([
    'content_filter',
    'sensitive',
    'SAFETY',
    'RECITATION',
    'PROHIBITED_CONTENT',
    'BLOCKLIST',
    'SPII',
    'refusal',
    'content_filter: RECITATION',
    'guardrail_intervened',
    'ERROR_TOXIC',
  ])('%s is a filter', async (reason) => {
    const { reply } = await say(reason)
    expect(reply).toMatchObject({ text: 'Once upon', finishReason: 'content_filter' })
  })

  it.each([
    'error',
    'network_error',
    'insufficient_system_resource',
    'abort',
    'Error',
    'cancelled',
    'MALFORMED_FUNCTION_CALL',
    'OTHER',
    'FINISH_REASON_UNSPECIFIED',
  ])('%s is a failure', async (reason) => {
    const { reply, error } = await say(reason)
    expect(reply).toBeUndefined()
    expect(error).toMatchObject({ code: 'model_unavailable', transient: true })
    expect(error?.message).toContain(`"${reason}"`)
    expect(error?.detail).toContain('Once upon')
  })

  it.each(['banana', 'pause_turn', 'stop_but_not_really', '超长', 'STOPP', 7, { why: 1 }])(
    '%j is not known, and named',
    async (reason) => {
      const { reply, error } = await say(reason)
      expect(reply).toBeUndefined()
      expect(error).toMatchObject({ code: 'model_invalid_reply', transient: false })
      const named = typeof reason === 'string' ? reason : JSON.stringify(reason)
      expect(error?.message).toContain(named)
      expect(error?.detail).toContain('Once upon')
    },
  )

  it.each([
    'stop',
    'STOP',
    'Stop',
    'eos',
    'eos_token',
    'end_turn',
    'stop_sequence',
    'COMPLETE',
    { type: 'stop' },
  ])('%j is an end', async (reason) => {
    expect((await say(reason)).reply).toMatchObject({ text: 'Once upon', finishReason: 'stop' })
  })

  it.each(['tool_calls', 'function_call', 'tool_use', 'TOOL_CALL', 'stop', 'end_turn'])(
    '%s is the end of a call',
    async (reason) => {
      const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }
      const { reply } = await say(reason, { content: null, tool_calls: [call] })
      expect(reply).toMatchObject({ finishReason: 'tool_calls', toolCalls: [{ name: 'look' }] })
    },
  )

  it('no call is made of a reply that failed', async () => {
    const call = { index: 0, id: 'a', function: { name: 'pay', arguments: '{"to":"Ann"}' } }
    for (const reason of ['error', 'banana']) {
      const { reply } = await say(reason, { content: null, tool_calls: [call] })
      expect(reply).toBeUndefined()
    }
  })
})

describe('A07: of several reasons the worse one counts', () => {
  it.each([
    ['length', 'stop', 'length'],
    ['stop', 'length', 'length'],
    ['content_filter', 'stop', 'content_filter'],
    ['stop', 'stop', 'stop'],
  ])('%s, then %s', async (first, second, expected) => {
    const body = chunk({ content: 'a' }, first) + chunk({}, second) + done
    expect((await ask({ body })).reply?.finishReason).toBe(expected)
  })

  it('a failure behind an end is one', async () => {
    const body = chunk({ content: 'a' }, 'stop') + chunk({}, 'error') + done
    expect((await ask({ body })).error?.code).toBe('model_unavailable')
  })
})

it('T5: a reason of a server does not speak through our error', async () => {
  const long = `x\u202e${'y'.repeat(500)}`
  const { error } = await ask({ body: chunk({ content: 'a' }, long) + done })
  expect(error?.message).not.toContain('\u202e')
  expect(error?.message.length).toBeLessThan(250)
})

describe('A09: a call whose arguments were cut off before they began', () => {
  it.each(['length', 'MAX_TOKENS', 'content_filter'])(
    'is not one without any: %s',
    async (reason) => {
      const call = { index: 0, id: 'a', function: { name: 'delete_all', arguments: '' } }
      const { reply } = await ask({ body: chunk({ tool_calls: [call] }, reason) + done })
      expect(reply?.toolCalls).toEqual([{ id: 'a', name: 'delete_all', input: { '': '' } }])
    },
  )

  it('a call whose arguments were whole keeps them', async () => {
    const calls = [
      { index: 0, id: 'a', function: { name: 'look', arguments: '{"at":1}' } },
      { index: 1, id: 'b', function: { name: 'look', arguments: '{"at":' } },
    ]
    const { reply } = await ask({ body: chunk({ tool_calls: calls }, 'length') + done })
    expect(reply?.toolCalls.map(({ input }) => input)).toEqual([{ at: 1 }, { '': '{"at":' }])
  })
})

it('an error behind the last piece is no end', async () => {
  const body = text('a') + event({ error: { message: 'upstream died' } }) + ended
  expect((await ask({ body })).error).toMatchObject({ code: 'model_unavailable' })
})

it('no reason stands in two lists', () => {
  const all = Object.values(reasonsOf).flatMap((reasons) => reasons.split(' '))
  expect(all.filter((reason, index) => all.indexOf(reason) !== index)).toEqual([])
})
