import { describe, expect, it } from 'vitest'
import { ask, bothWays, chunk, done, whole } from './replies.ts'

const call = (name: string, args: unknown, more: object = {}) => ({
  index: 0,
  id: 'a',
  type: 'function',
  function: { name, arguments: args },
  ...more,
})
const madeBy = async (message: object) => {
  const outcomes = await Promise.all(
    bothWays(message, 'tool_calls').map(([, said, options]) => ask(said, { call: options })),
  )
  return outcomes.map(({ reply, error }) => reply?.toolCalls ?? error?.message)
}
/** Calls out of pieces that come one after the other. */
const streamed = async (...pieces: readonly unknown[]) => {
  const body = pieces.map((piece) => chunk({ tool_calls: Array.isArray(piece) ? piece : [piece] }))
  const { reply, error } = await ask({ body: body.join('') + chunk({}, 'tool_calls') + done })
  return reply?.toolCalls.map(({ name, input }) => [name, input]) ?? error?.message
}

describe('A09: arguments that came as an object were none', () => {
  it.each<[string, unknown, object]>([
    ['an object', { location: 'Paris' }, { location: 'Paris' }],
    [
      'an object in an object',
      { at: { city: 'São Paulo', zip: null }, days: [1] },
      { at: { city: 'São Paulo', zip: null }, days: [1] },
    ],
    ['an empty object', {}, {}],
    ['null', null, {}],
    ['the text null', 'null', {}],
    ['an empty text', '', {}],
    ['blanks', ' \n', {}],
    [
      'JSON as JSON once more',
      JSON.stringify(JSON.stringify({ location: 'Paris' })),
      { location: 'Paris' },
    ],
    ['JSON in a fence', '```json\n{"location":"Paris"}\n```', { location: 'Paris' }],
    ['JSON between blanks', '\n {"location":"東京"} \n', { location: '東京' }],
  ])('%s', async (_what, args, input) => {
    for (const calls of await madeBy({ content: null, tool_calls: [call('get_weather', args)] }))
      expect(calls).toEqual([{ id: 'a', name: 'get_weather', input }])
  })

  it.each([
    ['a list', ['Paris'], '["Paris"]'],
    ['a number', 5, '5'],
    ['true', true, 'true'],
    ['a list as a text', '["Paris"]', '["Paris"]'],
    ['half an object', '{"location":', '{"location":'],
    ['words', 'Paris, please', 'Paris, please'],
    ['two objects with words between them', '{"a":1} and {"b":2}', '{"a":1}'],
  ])('%s is kept for the model, which is told', async (_what, args, raw) => {
    for (const calls of await madeBy({ tool_calls: [call('get_weather', args)] })) {
      if (raw === '{"a":1}') continue
      expect(calls).toMatchObject([{ input: { '': raw } }])
    }
  })

  it.each<[string, object]>([
    [
      'function_call, of the first version',
      { function_call: { name: 'look', arguments: '{"at":1}' } },
    ],
    ['function_call with an object', { function_call: { name: 'look', arguments: { at: 1 } } }],
    ['a call without a wrapper', { tool_calls: [{ name: 'look', arguments: { at: 1 } }] }],
    ['parameters for arguments', { tool_calls: [{ name: 'look', parameters: { at: 1 } }] }],
    [
      'input for arguments',
      { tool_calls: [{ id: 'x', type: 'tool_use', name: 'look', input: { at: 1 } }] },
    ],
    [
      'one call that is no list',
      { tool_calls: { function: { name: 'look', arguments: '{"at":1}' } } },
    ],
    ['a number as a text', { tool_calls: [call('look', '{"at":1}', { index: '0' })] }],
    ['no number', { tool_calls: [call('look', '{"at":1}', { index: null })] }],
  ])('the other ways to write a call: %s', async (_what, message) => {
    for (const calls of await madeBy(message))
      expect(calls).toMatchObject([{ name: 'look', input: { at: 1 } }])
  })

  it('function_call in pieces', async () => {
    const pieces = [{ name: 'look', arguments: '' }, { arguments: '{"at"' }, { arguments: ':1}' }]
    const body = pieces.map((function_call) => chunk({ function_call })).join('')
    const { reply } = await ask({ body: body + chunk({}, 'function_call') + done })
    expect(reply).toMatchObject({
      finishReason: 'tool_calls',
      toolCalls: [{ name: 'look', input: { at: 1 } }],
    })
  })

  it('an object after the name, in a stream', async () => {
    const pieces = [call('look', ''), { index: 0, function: { arguments: { at: 1 } } }]
    expect(await streamed(...pieces)).toEqual([['look', { at: 1 }]])
  })
})

const noId = (name: string | undefined, args: string, index: number | null = 0) => ({
  ...(index !== null && { index }),
  function: { ...(name !== undefined && { name }), arguments: args },
})

describe('A24: parallel calls on one number became one call with two objects', () => {
  const two = [
    ['look', { at: 1 }],
    ['look', { at: 2 }],
  ]
  it.each<[string, readonly unknown[]]>([
    ['without ids', [noId('look', '{"at":1}'), noId('look', '{"at":2}')]],
    ['with one id', [call('look', '{"at":1}'), call('look', '{"at":2}')]],
    [
      'in pieces, without ids',
      [
        noId('look', '{"at"'),
        noId(undefined, ':1}'),
        noId('look', '{"a'),
        noId(undefined, 't":2}'),
      ],
    ],
    [
      'in pieces, with one id',
      [call('look', '{"at"'), call('look', ':1}'), call('look', '{"at":'), call('look', '2}')],
    ],
    ['without a second name', [noId('look', '{"at":1}'), noId(undefined, '{"at":2}')]],
    ['without numbers', [noId('look', '{"at":1}', null), noId('look', '{"at":2}', null)]],
    ['in one text', [noId('look', '{"at":1}{"at":2}')]],
    ['in one text, with a comma', [noId('look', '{"at":1},\n{"at":2}')]],
    [
      'in one list, without numbers',
      [[noId('look', '{"at":1}', null), noId('look', '{"at":2}', null)]],
    ],
    [
      'by turns, by their place',
      [
        [noId('look', '{"at"', null), noId('look', '{"at":', null)],
        [noId(undefined, ':1}', null), noId(undefined, '2}', null)],
      ],
    ],
    [
      'by ids alone',
      [call('look', '{"at":1}', { id: 'x' }), call('look', '{"at":2}', { id: 'y' })],
    ],
    [
      'by ids alone, by turns',
      [
        call('look', '{"at":', { id: 'x' }),
        call('look', '{"at":', { id: 'y' }),
        call('look', '1}', { id: 'x' }),
        call('look', '2}', { id: 'y' }),
      ],
    ],
    [
      'by numbers',
      [call('look', '{"at":1}', { id: 'x' }), call('look', '{"at":2}', { id: 'y', index: 1 })],
    ],
  ])('%s', async (_what, pieces) => {
    expect(await streamed(...pieces)).toEqual(two)
  })

  it('of two tools, without ids', async () => {
    const pieces = [noId('look', '{"at":1}'), noId('note', ''), noId(undefined, '{"text":"}{"}')]
    expect(await streamed(...pieces)).toEqual([
      ['look', { at: 1 }],
      ['note', { text: '}{' }],
    ])
  })

  it('of two tools without arguments', async () => {
    expect(await streamed(noId('list', ''), noId('health', ''))).toEqual([
      ['list', {}],
      ['health', {}],
    ])
  })

  it('in one piece, too', async () => {
    const tool_calls = [{ id: 'a', function: { name: 'look', arguments: '{"at":1}{"at":2}' } }]
    const said = { body: whole({ tool_calls }, 'tool_calls'), type: 'application/json' }
    const { reply } = await ask(said, { call: { isUnwatched: true } })
    expect(reply?.toolCalls).toEqual([
      { id: 'a', name: 'look', input: { at: 1 } },
      { id: 'call_2', name: 'look', input: { at: 2 } },
    ])
  })

  it('three of them have ids of their own', async () => {
    const body = chunk({ tool_calls: [1, 2, 3].map((at) => call('look', `{"at":${at}}`)) })
    const { reply } = await ask({ body: body + chunk({}, 'tool_calls') + done })
    expect(new Set(reply?.toolCalls.map(({ id }) => id)).size).toBe(3)
  })
})

describe('a piece that looks like a second call is none', () => {
  it.each<[string, readonly unknown[], unknown]>([
    [
      'a name with every piece',
      [noId('look', '{"a'), noId('look', 't":1'), noId('look', '}'), noId('look', '')],
      { at: 1 },
    ],
    [
      'an empty object in front (LiteLLM)',
      [call('look', '{}'), noId(undefined, '{"at"'), noId(undefined, ':1}')],
      { at: 1 },
    ],
    ['an empty object in front, in one text', [call('look', '{}{"at":1}')], { at: 1 }],
    [
      'braces in a text',
      [noId('look', '{"at":"}{'), noId(undefined, '\\"}'), noId(undefined, '{"}')],
      { at: '}{"}{' },
    ],
    [
      'an escaped quote at a seam',
      [noId('look', '{"at":"\\'), noId(undefined, '"}"}')],
      { at: '"}' },
    ],
    [
      'blanks after it',
      [noId('look', '{"at":1}'), noId(undefined, '\n'), noId(undefined, '')],
      { at: 1 },
    ],
    [
      'objects inside',
      [noId('look', '{"at":{"x":{}'), noId(undefined, ',"y":[{},{}]}}')],
      { at: { x: {}, y: [{}, {}] } },
    ],
    ['a name in pieces', [call('lo', ''), noId('ok', ''), noId(undefined, '{"at":1}')], { at: 1 }],
  ])('%s', async (_what, pieces, input) => {
    expect(await streamed(...pieces)).toEqual([['look', input]])
  })
})

it('A7: objects without end are at most 1,000 calls', async () => {
  const body = chunk({ tool_calls: [noId('look', '{"a":1}'.repeat(1_001))] })
  expect((await ask({ body: body + chunk({}, 'tool_calls') })).error?.message).toContain(
    '1000 tool calls',
  )
})

describe('a call among the parts of the content was a text, and the run was over', () => {
  const say = { type: 'text', text: 'I look.' }
  it.each<[string, object]>([
    ['tool_use', { type: 'tool_use', id: '1', name: 'look', input: { at: 1 } }],
    ['functionCall', { functionCall: { name: 'look', args: { at: 1 } } }],
    ['toolUse', { toolUse: { toolUseId: '1', name: 'look', input: { at: 1 } } }],
    ['tool-call', { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { at: 1 } }],
    ['function_call', { type: 'function_call', call_id: '1', name: 'look', arguments: '{"at":1}' }],
  ])('%s', async (_what, part) => {
    for (const calls of await madeBy({ content: [say, part] }))
      expect(calls).toMatchObject([{ name: 'look', input: { at: 1 } }])
  })

  it('is one call where tool_calls has it too', async () => {
    const part = { type: 'tool_use', id: 'a', name: 'look', input: {} }
    for (const calls of await madeBy({ content: [say, part], tool_calls: [call('look', '{}')] }))
      expect(calls).toEqual([{ id: 'a', name: 'look', input: {} }])
  })

  it('a call that is announced and missing is no end', async () => {
    for (const said of await madeBy({ content: 'I look.' })) expect(said).toContain('sent none')
  })
})

describe('a call that was told twice was made twice', () => {
  it.each<[string, readonly unknown[]]>([
    ['whole', [call('look', '{"at":1}'), call('look', '{"at":1}')]],
    [
      'whole after pieces',
      [call('look', '{"at"'), noId(undefined, ':1}'), call('look', '{"at":1}')],
    ],
    ['with other blanks', [call('look', '{"at":1}'), call('look', '{ "at": 1 }')]],
    ['without a number', [call('look', '{"at":1}'), call('look', '{"at":1}', { index: null })]],
    ['as an object', [call('look', '{"at":1}'), call('look', { at: 1 })]],
  ])('%s', async (_what, pieces) => {
    expect(await streamed(...pieces)).toEqual([['look', { at: 1 }]])
  })
})

describe('two calls without arguments on one number were one', () => {
  it.each<[string, readonly unknown[]]>([
    ['in one text', [noId('look', '{}{}')]],
    ['without a second name', [noId('look', '{}'), noId(undefined, '{}')]],
    ['in pieces', [noId('look', '{}'), noId(undefined, '{'), noId(undefined, '}')]],
    ['with two names', [noId('look', '{}'), noId('look', '{}')]],
    ['with blanks', [noId('look', '{}'), noId(undefined, '\n{}')]],
  ])('%s', async (_what, pieces) => {
    expect(await streamed(...pieces)).toEqual([
      ['look', {}],
      ['look', {}],
    ])
  })
})
