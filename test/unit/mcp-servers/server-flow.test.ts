import { describe, expect, it } from 'vitest'
import { labelFrom } from '#contracts/label.ts'
import { mcpServerSchema } from '#runtime/catalog/types/mcp.ts'
import { confirmedTools } from '../../../src/features/mcp-servers/approve-items.ts'
import { flowOf } from '../../../src/features/mcp-servers/server-entries.ts'

const pin = (more: object = {}, confirmed: readonly string[] = []) => ({
  config: mcpServerSchema.parse({ id: 'crm', url: 'https://crm.example/mcp', ...more }),
  confirmed,
})
const tool = (annotations?: object, more: object = {}) => ({
  kind: 'tool' as const,
  key: 'find',
  definition: annotations ? { annotations: annotations as never } : {},
  hash: 'h',
  ...more,
})
const sinks = (...args: Parameters<typeof tool>) => flowOf(pin(), tool(...args), 'crm__find').sinks

const origin = 'https://crm.example'
const placeOf = (confirmed: readonly string[], ...args: Parameters<typeof tool>) =>
  flowOf(pin({}, confirmed), tool(...args), 'crm__find').goesTo()

describe('what a remote tool does outward, by the specification', () => {
  it('a tool without hints reaches an open world and changes something there', () => {
    expect(sinks()).toEqual(['egress', 'write'])
    expect(sinks({ destructiveHint: false })).toEqual(['egress', 'write'])
    expect(sinks({}, { isHarmless: true })).toEqual(['egress', 'write'])
    expect(flowOf(pin(), tool(), 'crm__find').yields).toEqual(
      labelFrom('crm__find', { confidentiality: 'public' }),
    )
  })

  it('T11: that it only reads counts where an operator confirmed it', () => {
    const reads = { readOnlyHint: true }
    expect(sinks(reads)).toEqual(['egress', 'write'])
    expect(sinks(reads, { isHarmless: true })).toEqual(['egress', 'write'])
    expect(flowOf(pin({}, ['find']), tool(reads), 'crm__find').sinks).toEqual(['egress'])
    expect(flowOf(pin({}, ['other']), tool(reads), 'crm__find').sinks).toContain('write')
    expect(flowOf(pin({}, ['find']), tool({}), 'crm__find').sinks).toContain('write')
    const resource = { ...tool(), kind: 'resource' as const }
    expect(flowOf(pin(), resource, 'crm__read_resource').sinks).toEqual(['egress'])
  })

  it('its answers may go back to its server, unless it may change something or says that it passes them on', () => {
    const reads = { readOnlyHint: true }
    expect(placeOf(['find'], reads)).toEqual({ origin, home: 'crm__*' })
    expect(placeOf([], reads)).toEqual({ origin })
    expect(placeOf(['find'], {})).toEqual({ origin })
    expect(placeOf(['find'], { ...reads, openWorldHint: true })).toEqual({ origin })
  })

  it('that its world is closed counts where an operator confirmed or said it', () => {
    const closed = { readOnlyHint: true, openWorldHint: false }
    expect(sinks(closed)).toEqual(['egress', 'write'])
    expect(flowOf(pin({}, ['find']), tool(closed), 'crm__find')).toMatchObject({
      sinks: [],
      yields: { integrity: 'tool', confidentiality: 'public', sources: [] },
    })
    expect(sinks({ readOnlyHint: true }, { isClosedWorld: true })).toEqual(['write'])
    expect(flowOf(pin({}, ['find']), tool({ openWorldHint: true }), 'crm__find').sinks).toContain(
      'egress',
    )
  })

  it('answers that were read with a key are private', () => {
    const keyed = pin({ headers: { authorization: 'Bearer ${secret:CRM}' } })
    expect(flowOf(keyed, tool(), 'crm__find').yields).toEqual(labelFrom('crm__find'))
    expect(flowOf(pin({ auth: 'oauth' }), tool(), 'crm__find').yields).toEqual(
      labelFrom('crm__find'),
    )
  })

  it.each([
    ['https://crm.example/mcp', 'public'],
    ['https://crm.example', 'public'],
    ['https://crm.example/api/v2/mcp', 'public'],
    ['https://crm.example/mcp?key=abc', 'private'],
    ['https://crm.example/s/MTU4ZjQ2N2Q/mcp', 'private'],
    ['https://crm.example/abcdefghijklmnopqrstuvwxyz', 'private'],
    ['https://crm.example/0b7ac0de-0000-4000-8000-000000000000/mcp', 'private'],
  ])(
    'an answer from a public address is public, and from an address that may open more it is not: %s',
    (url, expected) => {
      const { yields } = flowOf(pin({ url }), tool(), 'crm__find')
      expect(yields.confidentiality).toBe(expected)
    },
  )
})

it('an operator confirms tools by name, or all that are approved', () => {
  const items = [tool(), { ...tool(), key: 'list' }, { ...tool(), kind: 'prompt' as const }]
  expect(confirmedTools(['list'], items)).toEqual(['list'])
  expect(confirmedTools(['*'], items)).toEqual(['find', 'list'])
  expect(() => confirmedTools(['*', 'other'], items)).toThrow('"other" is no tool')
})
