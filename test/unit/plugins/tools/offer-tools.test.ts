import { describe, expect, it } from 'vitest'
import { richOutputSchema } from '../../../../src/surfaces/mcp/types.ts'
import type { JsonObject } from '#contracts/json.ts'
import { toPermit } from '../../../../src/runtime/catalog/types/permit.ts'
import type { Plugin } from '#features/plugins/types/plugin.ts'
import { offersOf } from '../../../../src/features/agents/wire-agents.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const contributes = {
  resources: [
    { name: 'text', uri: 'note://text', mimeType: 'text/plain', title: 'A text' },
    { name: 'any', uriTemplate: 'note://{id}/{part}' },
  ],
  prompts: [{ name: 'ask', arguments: [{ name: 'what', required: true }, { name: 'how' }] }],
}

const plugin = (parts: Partial<ReturnType<Plugin>> = {}) =>
  loadOne(
    bundle({ id: 'demo', contributes }, () => ({
      resources: {
        text: async () => 'Hello.',
        any: async ({ uri, id, part }) => ({ text: JSON.stringify({ uri, id, part }) }),
        ...parts.resources,
      },
      prompts: { ask: async ({ what }) => `Ask ${what}.`, ...parts.prompts },
    })),
  )

async function call(tool: string, input: JsonObject, parts?: Partial<ReturnType<Plugin>>) {
  const entries = toToolEntries(plugin(parts), createCapabilityDeps())
  const entry = entries.find(({ tool: { name } }) => name === `demo__${tool}`)
  const result = await entry!.tool.execute(input, createToolContext())
  return result.ok ? result.output : result.error
}

describe('P14: resources of a plugin', () => {
  it('are listed with its prompts by the manifest alone', () => {
    expect(offersOf([plugin().manifest])).toEqual({
      resources: [
        {
          owner: 'demo',
          uri: 'note://text',
          isTemplate: false,
          name: 'text',
          title: 'A text',
          mimeType: 'text/plain',
        },
        { owner: 'demo', uri: 'note://{id}/{part}', isTemplate: true, name: 'any' },
      ],
      prompts: [
        {
          owner: 'demo',
          name: 'ask',
          arguments: [{ name: 'what', required: true }, { name: 'how' }],
        },
      ],
    })
  })

  it('are read through an ordinary tool that answers a rich output', async () => {
    const output = await call('read_resource', { uri: 'note://text' })
    expect(richOutputSchema.safeParse(output).success).toBe(true)
    expect(output).toEqual({
      content: [
        {
          type: 'resource',
          resource: { uri: 'note://text', mimeType: 'text/plain', text: 'Hello.' },
        },
      ],
    })
  })

  it('of a template get its variables', async () => {
    const output = await call('read_resource', { uri: 'note://7/a%20b' })
    expect(output).toMatchObject({
      content: [{ resource: { text: '{"uri":"note://7/a%20b","id":"7","part":"a b"}' } }],
    })
  })

  it('may be bytes, and several', async () => {
    const answer = [
      { blob: 'AAEC', mimeType: 'image/png' },
      { text: 'b', uri: 'note://b' },
    ]
    const resources = { text: async () => answer }
    expect(await call('read_resource', { uri: 'note://text' }, { resources })).toEqual({
      content: [
        {
          type: 'resource',
          resource: { uri: 'note://text', mimeType: 'image/png', blob: 'AAEC' },
        },
        { type: 'resource', resource: { uri: 'note://b', mimeType: 'text/plain', text: 'b' } },
      ],
    })
  })

  it('that are not declared are an input error', async () => {
    expect(await call('read_resource', { uri: 'note://text/more/x' })).toEqual({
      code: 'tool_invalid_input',
      message: 'There is no resource "note://text/more/x".',
    })
  })

  it.each([
    ['a number', 7],
    ['no base64', { blob: 'not base64!' }],
    ['no JSON', () => 1],
    ['both', { text: 'a', blob: 'AAEC' }],
    ['nothing', []],
  ])('that answer %s fail', async (_what, answer) => {
    const resources = { text: async () => answer as never }
    expect(await call('read_resource', { uri: 'note://text' }, { resources })).toMatchObject({
      code: 'tool_failed',
    })
  })
})

describe('P14: prompts of a plugin', () => {
  it('answer messages', async () => {
    expect(await call('get_prompt', { name: 'ask', arguments: { what: 'me' } })).toEqual({
      content: [{ type: 'text', text: 'A prompt of 1 message, under "structured".' }],
      structured: { messages: [{ role: 'user', content: { type: 'text', text: 'Ask me.' } }] },
    })
  })

  it.each([
    ['without what is required', { name: 'ask' }, /"what" is required/],
    ['with what is not declared', { name: 'ask', arguments: { what: '', x: '' } }, /argument "x"/],
  ])('%s are an input error', async (_what, input, message) => {
    expect(await call('get_prompt', input)).toMatchObject({
      code: 'tool_invalid_input',
      message: expect.stringMatching(message) as string,
    })
  })

  it('that answer something else fail', async () => {
    const prompts = { ask: async () => [{ role: 'system', content: 'Obey.' }] as never }
    expect(await call('get_prompt', { name: 'ask', arguments: { what: '' } }, { prompts })).toEqual(
      expect.objectContaining({ code: 'tool_failed' }),
    )
  })
})

it('I27: their tools are among those that need no approval, as the operator is shown', () => {
  expect(toPermit(plugin().manifest).free).toEqual(['read_resource', 'get_prompt'])
})
