import { describe, expect, it } from 'vitest'
import { exposureSchema } from '../../../src/runtime/catalog/types/generation.ts'
import { offeredTools, type Inventory } from '../../../src/surfaces/mcp/offered.ts'

const hints = { isReadOnly: true, isIdempotent: true, isDestructive: false }
const tool = (name: string) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', 'x-odd': { deep: [1] } },
  ...hints,
})
const agent = (name: string) => ({ name, description: name, integrationMode: 'tool' as const })

function offered(exposed: object, more: Partial<Inventory> = {}) {
  return offeredTools({
    exposed: exposureSchema.parse(exposed),
    agents: [agent('orchestrator'), agent('reviewer')],
    tools: [tool('notes__write'), tool('kv__set'), tool('kv__get'), tool('files__get')],
    offers: { resources: [], prompts: [] },
    skills: [],
    ...more,
  })
}
const names = (...given: Parameters<typeof offered>) => offered(...given).map(({ name }) => name)
const runs = ['isola__run_status', 'isola__run_cancel']

describe('tools/list', () => {
  it('has the orchestrator and what its runs need, and nothing else, unless an operator says so', () => {
    expect(names({})).toEqual(['orchestrator', ...runs])
  })

  it('has what was named, in an order of its own', () => {
    const chosen = { agents: ['reviewer'], tools: ['notes__write', 'kv__*'] }
    expect(names(chosen)).toEqual(['reviewer', ...runs, 'kv__get', 'kv__set', 'notes__write'])
    const [, , , ...mixed] = names({ ...chosen, tools: ['kv__*', 'notes__write'] })
    expect(mixed).toEqual(['kv__get', 'kv__set', 'notes__write'])
  })

  it('does not grow by what is installed later', () => {
    const later = [tool('kv__get'), tool('new__get'), tool('kvx__get')]
    const chosen = { tools: ['kv__*'] }
    expect(names(chosen, { tools: later })).toEqual(['orchestrator', ...runs, 'kv__get'])
  })

  it('has no agent and no tool that the key of the caller does not reach', () => {
    const chosen = { agents: ['orchestrator', 'reviewer'], tools: ['kv__*'] }
    expect(names(chosen, { agents: [agent('reviewer')], tools: [] })).toEqual(['reviewer', ...runs])
    expect(names(chosen, { agents: [], tools: [] })).toEqual([])
  })

  it('offers a tool by its bare name where that was chosen, and every name once', () => {
    const all = { tools: ['kv__*', 'files__*'], bare_names: ['kv__*', 'files__*'] }
    expect(names(all)).toEqual(['orchestrator', ...runs, 'get', 'kv__get', 'set'])
    const taken = { tools: [tool('x__orchestrator'), tool('x__y')] }
    const both = { tools: ['x__*'], bare_names: ['x__*'] }
    expect(names(both, taken)).toEqual(['orchestrator', ...runs, 'x__orchestrator', 'y'])
  })

  it('N10: takes no bare name that is the full name of another tool', () => {
    const all = { tools: ['a__*', 'b__*'], bare_names: ['a__*', 'b__*'] }
    const found = offered(all, { tools: [tool('a__b__c'), tool('b__c')] })
    const targets = Object.fromEntries(found.map(({ name, target }) => [name, target]))
    expect(targets).toMatchObject({ a__b__c: 'a__b__c', c: 'b__c' })
    expect(targets['b__c']).toBeUndefined()
  })

  it('names the tool that is called, whatever it is offered as', () => {
    const found = offered({ tools: ['kv__get'], bare_names: ['kv__get'] })
    expect(found.find(({ name }) => name === 'get')?.target).toBe('kv__get')
  })

  it('P2: shows a schema as it is, and the hints that the host goes by', () => {
    const found = offered({ tools: ['kv__get'] }).find(({ name }) => name === 'kv__get')
    expect(found?.inputSchema).toEqual({ type: 'object', 'x-odd': { deep: [1] } })
    expect(found?.annotations).toEqual({ readOnlyHint: true, idempotentHint: true })
  })

  it('I27: says of no tool that it destroys nothing: a server that says nothing has said no such thing', () => {
    const silent = { isReadOnly: false, isIdempotent: false, isDestructive: false }
    const tools = [
      { ...tool('a__silent'), ...silent },
      { ...tool('a__presumed'), ...silent, isDestructive: 'presumed' as const },
      { ...tool('a__drop'), ...silent, isDestructive: true },
    ]
    const found = offered({ agents: [], tools: ['a__*'] }, { tools })
    const hints = Object.fromEntries(found.map(({ name, annotations }) => [name, annotations]))
    const nothing = { readOnlyHint: false, idempotentHint: false }
    expect(hints).toMatchObject({ a__drop: { ...nothing, destructiveHint: true } })
    expect(hints['a__silent']).toEqual(nothing)
    expect(hints['a__presumed']).toEqual(nothing)
  })
})
