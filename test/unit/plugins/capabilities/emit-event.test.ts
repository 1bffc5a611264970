import { describe, expect, it } from 'vitest'
import { createSchemaValidator } from '../../../../src/runtime/catalog/schema-validator.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import {
  parseManifest,
  permitLines,
  toPermit,
  widened,
} from '../../../../src/runtime/catalog/types/permit.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const schema = {
  type: 'object',
  properties: { amount: { type: 'number' }, note: { type: 'string' } },
  required: ['amount'],
  additionalProperties: false,
}
const manifest = (more: object = {}) => ({
  id: 'shop',
  contributes: {
    tools: [{ name: 'sell', description: 'Sells.', input_schema: { type: 'object' } }],
    events: [
      { name: 'paid', description: 'A bill was paid.', schema },
      { name: 'opened', ...more },
    ],
  },
})

/** Its tools, in process: `sell` emits what it is told to. */
function open(more: object = {}) {
  const plugin = loadOne(
    bundle(manifest(more), () => ({
      tools: {
        async sell({ event, payload, times = 1 }, { emit }) {
          for (let time = 0; time < times; time += 1) await emit(event, payload)
          return 'sold'
        },
      },
    })),
  )
  const validator = createSchemaValidator()
  const entries = toToolEntries(plugin, createCapabilityDeps({ validator }))
  const call = async (
    name: string,
    input: Parameters<(typeof entries)[number]['tool']['execute']>[0],
  ) => {
    const context = createToolContext()
    const entry = entries.find(({ tool }) => tool.name === name)!
    const result = await entry.tool.execute(input, context)
    return { result, events: context.events.filter(({ type }) => type === 'event_emitted') }
  }
  return { entries, call }
}

describe('a plugin that emits', () => {
  it('Y28: puts the event in its session’s log, under its own id, with the label of all that the call knows', async () => {
    const { events } = await open().call('shop__sell', { event: 'paid', payload: { amount: 5 } })
    expect(events).toMatchObject([
      {
        data: {
          call: 'call_1',
          event: 'shop.paid',
          payload: { amount: 5 },
          payloadChars: 12,
          label: { integrity: 'tool', confidentiality: 'said' },
        },
      },
    ])
    expect(events[0]?.data).not.toHaveProperty('isPublic')
  })

  it('Y28: is refused what its manifest does not declare, and says what to do', async () => {
    const { call } = open()
    const told = async (input: object) => {
      const { result, events } = await call('shop__sell', input as never)
      expect(events).toEqual([])
      return result.ok ? '' : result.error.message
    }
    expect(await told({ event: 'stolen', payload: {} })).toContain('contributes.events')
    expect(await told({ event: 'paid', payload: { amount: 'five' } })).toContain('amount')
    expect(await told({ event: 'opened', payload: [] })).toContain('payload')
    expect(await told({ event: 'opened', payload: { text: 'x'.repeat(9_000) } })).toContain('8192')
  })

  it('emits twenty events a call at most', async () => {
    const { result, events } = await open().call('shop__sell', {
      event: 'opened',
      payload: {},
      times: 21,
    })
    expect(result.ok).toBe(false)
    expect(events).toHaveLength(20)
  })

  it('Y28: has a tool by which a model emits, with the same checks', async () => {
    const { entries, call } = open()
    const { tool } = entries.find((one) => one.tool.name === 'shop__emit')!
    expect(tool.description).toContain('paid: A bill was paid.')
    const { result, events } = await call('shop__emit', { event: 'paid', payload: { amount: 1 } })
    expect(result).toMatchObject({ ok: true, output: { emitted: 'shop.paid' } })
    expect(events).toHaveLength(1)
    expect((await call('shop__emit', { event: 'paid', payload: {} })).result.ok).toBe(false)
  })

  it('C6: writes outward where every principal may subscribe to what it emits', () => {
    const sinksOf = (more: object) =>
      open(more).entries.map(({ tool, sinks }) => [tool.name, sinks])
    expect(sinksOf({})).toEqual([
      ['shop__sell', []],
      ['shop__emit', []],
    ])
    expect(sinksOf({ public: true })).toEqual([
      ['shop__sell', ['write']],
      ['shop__emit', ['write', 'message']],
    ])
  })
})

const parse = (more: object) =>
  parseManifest({
    name: 'Test',
    version: '1.0.0',
    description: 'A test.',
    entrypoint: 'main.ts',
    ...more,
  })

describe('what an operator allows', () => {
  const agent = (subscribes: readonly object[]) =>
    parse({
      ...manifest(),
      agent: { integration_mode: 'tool', model: 'default', instructions: 'a.md', subscribes },
    })

  it('has a line for each event that every principal may subscribe to, and for each that runs its agent', () => {
    const before = toPermit(parse(manifest()))
    expect(permitLines(before)).toEqual([])
    expect(widened(toPermit(parse(manifest({ public: true }))), before)).toEqual([
      { text: 'event: everybody may subscribe to opened' },
    ])
    const lines = permitLines(toPermit(agent([{ event: 'bank.*', task: 'Look.' }])))
    expect(lines).toContainEqual({ text: 'agent: is run by the event bank.*' })
  })

  it('refuses an event that is declared twice, a tool in the way of ours, and a pattern that is none', () => {
    const twice = { id: 'shop', contributes: { events: [{ name: 'a' }, { name: 'a' }] } }
    expect(() => parse(twice)).toThrow('is declared twice: a')
    const tools = [{ name: 'emit', description: 'Emits.' }]
    expect(() => parse({ id: 'shop', contributes: { tools, events: [{ name: 'a' }] } })).toThrow(
      'that tool is theirs',
    )
    expect(() => agent([{ event: '*', task: 'Look.' }])).toThrow('billing.*')
  })
})
