import { describe, expect, it } from 'vitest'
import { labelFrom } from '#contracts/label.ts'
import { mcpServerSchema } from '#contracts/mcp.ts'
import { flowOf } from '../../../src/mcp/server-flow.ts'

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

describe('what a remote tool does outward, by the specification', () => {
  it('one that says nothing reaches an open world and changes something there', () => {
    expect(sinks()).toEqual(['egress', 'write'])
    expect(sinks({ destructiveHint: false })).toEqual(['egress', 'write'])
    expect(sinks({ readOnlyHint: true })).toEqual(['egress'])
    expect(flowOf(pin(), tool(), 'crm__find').yields).toEqual(
      labelFrom('crm__find', { confidentiality: 'public' }),
    )
  })

  it('that its world is closed counts where an operator confirmed or said it', () => {
    const closed = { readOnlyHint: true, openWorldHint: false }
    expect(sinks(closed)).toEqual(['egress'])
    const confirmed = flowOf(pin({}, ['find']), tool(closed), 'crm__find')
    expect(confirmed).toEqual({
      sinks: [],
      yields: { integrity: 'tool', confidentiality: 'public', sources: [] },
    })
    expect(sinks({ readOnlyHint: true }, { isClosedWorld: true })).toEqual([])
    expect(sinks({}, { isHarmless: true })).toEqual(['egress'])
    expect(flowOf(pin({}, ['find']), tool({ openWorldHint: true }), 'crm__find').sinks).toContain(
      'egress',
    )
  })

  it('what is read with a key is private', () => {
    const keyed = pin({ headers: { authorization: 'Bearer ${secret:CRM}' } })
    expect(flowOf(keyed, tool(), 'crm__find').yields).toEqual(labelFrom('crm__find'))
    expect(flowOf(pin({ auth: 'oauth' }), tool(), 'crm__find').yields).toEqual(
      labelFrom('crm__find'),
    )
  })
})
