import { describe, expect, test } from 'vitest'
import { labelFrom, ownLabel } from '#contracts/label.ts'
import type { MoreTools } from '../../../src/runtime/catalog/types/skill.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createToolset, type ToolsetOptions } from '../../../src/runtime/catalog/toolset.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

const entry = (name: string, description = `Does ${name}.`): ToolEntry => ({
  tool: {
    name,
    description,
    inputSchema: { type: 'object', properties: { path: { description: 'Where' } } },
    execute: async () => ({ ok: true, output: name }),
  },
  isReadOnly: false,
  isIdempotent: false,
  timeoutMs: 1,
  definitionHash: name,
  record: {},
})
const build = (entries: readonly ToolEntry[], options: Partial<ToolsetOptions> = {}) =>
  createToolset(entries, { core: 'with-core-tools', buildIndex: createSearchIndex, ...options })
const names = (toolset: ReturnType<typeof build>) => toolset.definitions.map(({ name }) => name)

describe('the definitions', () => {
  test('Y19: core tools, then the pinned in their order', () => {
    expect(names(build([entry('b__x'), entry('a__x')]))).toEqual([
      'isola__find',
      'isola__call',
      'b__x',
      'a__x',
    ])
  })

  test('Y15: without core tools they are exactly the entries given', () => {
    const toolset = build([entry('a__x')], { core: 'without-core-tools' })
    expect(names(toolset)).toEqual(['a__x'])
    expect(toolset.resolve('isola__find', {})).toBeUndefined()
    expect(toolset.resolve('isola__call', { name: 'a__x', input: {} })).toBeUndefined()
  })

  test('further core tools come after the two, and are in no definition of a sub-agent', () => {
    const more = [entry('isola__more')]
    expect(names(build([entry('a__x')], { more }))).toEqual([
      'isola__find',
      'isola__call',
      'isola__more',
      'a__x',
    ])
    expect(build([], { more }).resolve('isola__more', {})?.entry).toBe(more[0])
    const own = build([entry('a__x')], { more, core: 'without-core-tools' })
    expect(names(own)).toEqual(['a__x'])
    // Reachable all the same, for a long result that names it.
    expect(own.resolve('isola__more', {})?.entry).toBe(more[0])
  })

  test('a tool that is not pinned is in none, and is called with isola__call or by its own name', () => {
    const entries = Array.from({ length: 30 }, (_, index) => entry(`p__t${index}`))
    const toolset = build(entries, { isPinned: ({ tool: { name } }) => name === 'p__t3' })
    expect(names(toolset)).toEqual(['isola__find', 'isola__call', 'p__t3'])
    expect(toolset.resolve('p__t29', { a: 1 })).toEqual({ entry: entries[29], input: { a: 1 } })
    expect(toolset.resolve('isola__call', { name: 'p__t29', input: {} })?.entry).toBe(entries[29])
  })

  test('a tool that is installed elsewhere is looked up by its own name too', async () => {
    const far = entry('far__x')
    const asked: (readonly string[])[] = []
    const toolset = build([entry('a__x')], {
      isPinned: () => false,
      beyond: {
        search: async () => [],
        owns: () => false,
        entry: (name) => (asked.flat().includes(name) && name === 'far__x' ? far : undefined),
        ready: async (wanted) => void asked.push(wanted),
      },
    })
    const call = (toolId: string, input = {}) => ({ id: '1', toolId, input })
    await toolset.ready?.([call('a__x'), call('isola__find'), call('far__x'), call('gone__x')])
    expect(asked).toEqual([['far__x', 'gone__x']])
    expect(toolset.resolve('far__x', {})?.entry).toBe(far)
    expect(toolset.resolve('gone__x', {})).toBeUndefined()
  })

  test('a search costs no session an index of its own where all that is installed can be asked', async () => {
    let built = 0
    const beyond = (search: MoreTools['search']) => ({
      search,
      owns: () => false,
      entry: () => undefined,
      ready: async () => {},
    })
    const find = async (search: MoreTools['search']) => {
      const toolset = build([entry('a__x')], {
        isPinned: () => false,
        beyond: beyond(search),
        buildIndex: (documents) => {
          built += 1
          return createSearchIndex(documents)
        },
      })
      const found = toolset.resolve('isola__find', { queries: ['a'] })
      await found?.entry.tool.execute({ queries: ['a'] }, createToolContext())
    }
    await find(async () => [{ id: 'a__x', score: 1, fit: 1, matched: ['a'] }])
    expect(built).toBe(0)
    await find(async () => Promise.reject(new Error('away')))
    expect(built).toBe(1)
  })

  test('have the same size with ten and with ten thousand unpinned tools', () => {
    const of = (count: number) =>
      JSON.stringify(
        build(
          Array.from({ length: count }, (_, i) => entry(`p__t${i}`)),
          { isPinned: () => false },
        ).definitions,
      )
    expect(of(10_000)).toBe(of(10))
  })
})

describe('H: whose words the model reads of a tool that no person has read', () => {
  const toldLabel = labelFrom('b__x', { confidentiality: 'public' })
  const unread = (name: string): ToolEntry => ({ ...entry(name), toldLabel })
  const labelFound = async (entries: readonly ToolEntry[], query: string) => {
    const toolset = build(entries, { isPinned: () => false })
    const { execute } = toolset.resolve('isola__find', { queries: [query] })!.entry.tool
    const found = await execute({ queries: [query] }, createToolContext())
    return found.ok && found.label
  }

  test('the found tools have a stranger’s label where one of the tools has it, else ours', async () => {
    const entries = [entry('a__open', 'Opens a door.'), unread('b__close')]
    expect(await labelFound(entries, 'open a door')).toEqual(ownLabel)
    expect(await labelFound(entries, 'b close')).toEqual(toldLabel)
    expect(await labelFound(entries, 'open or close')).toEqual(toldLabel)
  })

  test('tools found elsewhere, and a principal’s own, are labelled the same way', async () => {
    const far = unread('far__x')
    const toolset = build([], {
      isPinned: () => false,
      beyond: {
        owns: () => true,
        search: async () => [{ id: 'far__x', score: 1, fit: 1, matched: ['far'] }],
        ready: async () => {},
        entry: () => far,
      },
    })
    const { execute } = toolset.resolve('isola__find', { queries: ['far'] })!.entry.tool
    expect(await execute({ queries: ['far'] }, createToolContext())).toMatchObject({
      label: toldLabel,
    })
  })

  test('the definitions are a stranger’s where one of them is, of an agent and of the orchestrator', () => {
    expect(build([entry('a__x')]).label).toEqual(ownLabel)
    expect(build([entry('a__x'), unread('b__x')]).label).toEqual(toldLabel)
    expect(build([unread('b__x')], { isPinned: () => false }).label).toEqual(ownLabel)
    expect(build([unread('b__x')], { core: 'without-core-tools' }).label).toEqual(toldLabel)
  })

  test('in signatures too', async () => {
    const code = entry('code__execute')
    const toolset = build([unread('b__x')], { code })
    const { execute } = toolset.resolve('isola__find', { queries: ['b'] })!.entry.tool
    expect(await execute({ queries: ['b'] }, createToolContext())).toMatchObject({
      label: toldLabel,
    })
  })
})

describe('names are unique', () => {
  test.each([
    ['a name that is taken', 'a__x', /has this name already/],
    ['a core name', 'isola__call', /belong to the core/],
    ["any name of the core's prefix", 'isola__new', /belong to the core/],
    ['a name too long for a model', `a__${'x'.repeat(62)}`, /valid/],
    ['a look-alike', 'а__x', /valid/],
  ])('%s is refused and reported, the first stays', (_what, name, message) => {
    const first = entry('a__x')
    const toolset = build([first, entry(name, 'second')])
    expect(names(toolset)).toEqual(['isola__find', 'isola__call', 'a__x'])
    expect(toolset.resolve('a__x', {})?.entry).toBe(first)
    expect(toolset.problems).toEqual([
      { tool: name, message: expect.stringMatching(message) as string },
    ])
  })
})

describe('isola__call', () => {
  const toolset = build([entry('a__x'), entry('b__y')], {
    isPinned: ({ tool }) => tool.name === 'a__x',
  })
  const resolve = (input: Parameters<typeof toolset.resolve>[1]) =>
    toolset.resolve('isola__call', input)

  test('N10: resolves to the inner tool and its input, so that it passes the gates under its own name', () => {
    expect(resolve({ name: 'b__y', input: { path: 'p' } })).toMatchObject({
      entry: { tool: { name: 'b__y' } },
      input: { path: 'p' },
    })
    expect(resolve({ name: 'a__x', input: {} })?.entry.tool.name).toBe('a__x')
  })

  test.each([
    ['an unknown name', { name: 'c__z', input: {} }],
    ['itself', { name: 'isola__call', input: { name: 'a__x', input: {} } }],
    ['isola__find', { name: 'isola__find', input: {} }],
    ['no name', { input: {} }],
    ['a name that is no text', { name: ['a__x'], input: {} }],
    ['a member of every object', { name: 'constructor', input: {} }],
  ])('%s is no tool', (_what, input) => expect(resolve(input)).toBeUndefined())

  test.each([
    [
      'isola__call',
      { name: 'c__z', input: {} },
      'There is no tool named "c__z" here. Look for one with isola__find.',
    ],
    ['c__z', {}, 'There is no tool named "c__z" here. Look for one with isola__find.'],
    [
      'isola__call',
      { input: {} },
      'isola__call needs "name": the id of a tool, as isola__find answers it.',
    ],
    [
      'isola__call',
      { name: 7 },
      'isola__call needs "name": the id of a tool, as isola__find answers it.',
    ],
    ['isola__call', { name: 'isola__find' }, 'isola__find is called by its own name.'],
  ])('%s of %j says which tool is not there, and where to look', (name, input, text) =>
    expect(toolset.missing?.(name, input)).toBe(text),
  )

  test.each([
    ['nothing', { name: 'a__x' }, {}],
    ['JSON as text', { name: 'a__x', input: '{"path":"p"}' }, { path: 'p' }],
    ['other text', { name: 'a__x', input: 'p' }, { '': 'p' }],
    ['a list', { name: 'a__x', input: [1] }, { '': [1] }],
  ])('%s as the inner input', (_what, input, expected) =>
    expect(resolve(input)?.input).toEqual(expected),
  )
})

describe('isola__find', () => {
  const long = entry('mail__send', `Sends an e-mail message. ${'x'.repeat(300)}`)
  const toolset = build(
    [entry('kv__get', 'Reads a stored value.'), long, entry('files__read', 'Reads a file.')],
    { isPinned: () => false },
  )
  const find = async (input: Parameters<typeof toolset.resolve>[1]) => {
    const result = await toolset
      .resolve('isola__find', input)!
      .entry.tool.execute(input, createToolContext())
    return result.ok
      ? (
          result.output as unknown as {
            tools: { id: string; description: string; input_schema: unknown }[]
          }
        ).tools
      : []
  }

  test('C3: finds in all the agent can reach and answers how to call it', async () => {
    const [first] = await find({ queries: ['send an e-mail'] })
    expect(first).toMatchObject({ id: 'mail__send', input_schema: { type: 'object' } })
    expect(first?.description).toHaveLength(160)
  })

  test('merges several queries and keeps to the limit', async () => {
    expect(
      (await find({ queries: ['send mail', 'read a file'], limit: 2 })).map(({ id }) => id),
    ).toEqual(['mail__send', 'files__read'])
  })

  describe('C3: puts on record', () => {
    const look = async (queries: readonly string[], options: Partial<ToolsetOptions> = {}) => {
      const entries = [
        entry('kv__get', 'Reads a stored value.'),
        entry('kv__set', 'Stores a value.'),
      ]
      const context = createToolContext()
      const { tool } = build(entries, options).resolve('isola__find', {})!.entry
      const result = await tool.execute({ queries: [...queries] }, context)
      const { tools } = Object(result.ok && result.output) as { tools: { id: string }[] }
      return { named: tools.map(({ id }) => id), events: context.events, result }
    }

    test('each named tool and why: its score, and the words of the query that the tool has', async () => {
      const { events } = await look(['stores a colour', 'read'])
      expect(events).toEqual([
        {
          type: 'tools_found',
          data: {
            call: 'call_1',
            found: [
              { tool: 'kv__set', score: expect.any(Number) as number, matched: ['stores'] },
              { tool: 'kv__get', score: expect.any(Number) as number, matched: ['read'] },
            ],
          },
        },
      ])
      expect(JSON.stringify(events)).not.toContain('colour')
    })

    test('that nothing was', async () => {
      const { events } = await look(['zebra'])
      expect(events.map(({ data }) => data)).toEqual([{ call: 'call_1', found: [] }])
    })

    test('no tool that the caller may not call: it is neither named nor shown', async () => {
      const asked: unknown[] = []
      const deniedOf: ToolsetOptions['deniedOf'] = async (tools, { agent, principal }) => {
        asked.push([tools.map(({ tool }) => tool.name).toSorted(), agent, principal])
        return ['kv__set']
      }
      const { named, events, result } = await look(['value'], { deniedOf })
      expect(named).toEqual(['kv__get'])
      expect(Object.keys((result.ok && result.shows) || {})).toEqual(['kv__get'])
      expect(asked).toEqual([[['kv__get', 'kv__set'], 'orchestrator', 'operator']])
      expect(events[0]?.data).toMatchObject({
        found: [{ tool: 'kv__get' }],
        withheld: ['kv__set'],
      })
    })

    test('that only a part could be searched', async () => {
      const beyond = {
        search: () => Promise.reject(new Error('away')),
        ready: async () => {},
        entry: () => undefined,
        owns: () => false,
      }
      const { named, events } = await look(['stored'], { beyond })
      expect(named).toContain('kv__get')
      expect(events[0]?.data).toMatchObject({ isPartial: true })
    })
  })

  test('is read-only, isola__call is not', () => {
    expect(toolset.resolve('isola__find', {})?.entry.isReadOnly).toBe(true)
  })
})

describe('in code mode', () => {
  const code: ToolEntry = {
    ...entry('code__run'),
    tool: {
      ...entry('code__run').tool,
      inputSchema: { type: 'object', properties: { code: { type: 'string', maxLength: 9 } } },
    },
    inner: { resolve: () => undefined, children: 0 },
  }
  const own = build([entry('a__x'), code], { core: 'without-core-tools', code })

  test('P32: the definitions of an agent are a pair, and the same however many tools it has', () => {
    const many = Array.from({ length: 200 }, (_, at) => entry(`p__t${at}`))
    const other = build(many, { core: 'without-core-tools', code })
    expect(names(own)).toEqual(['isola__find', 'code__run'])
    expect(JSON.stringify(other.definitions)).toBe(JSON.stringify(own.definitions))
    const { inputSchema } = own.definitions[1]!
    expect(inputSchema.properties).toMatchObject({ code: { maxLength: 9 }, name: {}, input: {} })
  })

  test('the code reaches what the agent reaches', () => {
    const ran = own.resolve('code__run', { code: 'x' })
    expect(ran?.entry.inner).toEqual({ resolve: 'agent', children: 0 })
    expect(ran?.entry.definitionHash).not.toBe(code.definitionHash)
  })

  test('one call is made by its name, of its own tools and no other', () => {
    expect(own.resolve('code__run', { name: 'a__x', input: { a: 1 } })).toMatchObject({
      entry: { tool: { name: 'a__x' } },
      input: { a: 1 },
    })
    for (const name of ['code__run', 'isola__find', 'b__y', '', 7])
      expect(own.resolve('code__run', { name, input: {} })).toBeUndefined()
    expect(own.missing?.('code__run', { name: '' })).toMatch(/^code__run needs "name"/)
    expect(own.missing?.('code__run', { name: 'b__y' })).toMatch(/no tool named "b__y"/)
    expect(own.resolve('isola__call', { name: 'a__x', input: {} })).toBeUndefined()
  })

  test('isola__find returns a signature, and the tool that runs code is not found', async () => {
    const found = await own
      .resolve('isola__find', {})!
      .entry.tool.execute({ queries: ['does a x', 'code run'] }, createToolContext())
    expect(found).toMatchObject({
      output: {
        tools:
          '/** Does a__x. */\ntools.a.x(input?: { path?: unknown /* Where */ }): Promise<unknown>',
      },
      shows: { a__x: 'a__x' },
    })
  })

  test('the orchestrator keeps isola__call for calls that no model makes', () => {
    const toolset = build([entry('a__x')], { code })
    expect(names(toolset)).toEqual(['isola__find', 'code__run'])
    expect(toolset.resolve('isola__call', { name: 'a__x', input: {} })?.entry.tool.name).toBe(
      'a__x',
    )
  })

  test('tools that code names are looked up before it runs', async () => {
    const looked: (readonly string[])[] = []
    const beyond = {
      ready: async (wanted: readonly string[]) => void looked.push(wanted),
      entry: () => undefined,
      owns: () => false,
      search: async () => [],
    }
    const toolset = build([entry('a__x')], { code, beyond })
    await toolset.ready?.([
      { toolId: 'code__run', input: { code: 'await tools.a.x(); await tools.b.y()' } },
      { toolId: 'code__run', input: { name: 'c__z', input: {} } },
      { toolId: 'code__run', input: {} },
    ])
    expect(looked).toEqual([['b__y', 'c__z']])
  })
})
