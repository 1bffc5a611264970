import { expect, it } from 'vitest'
import type { EventDraft } from '../../../../src/contracts/event.ts'
import { createGrantedIsolate } from '../../../../src/features/plugins/capabilities/granted-isolate.ts'
import type { PluginRunnerStub } from '../../../../src/features/plugins/sandbox/isolate-host.ts'
import { sha256 } from '../../../fakes/kernel.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

type Answer = (port: (verb: string, json: string) => Promise<string>) => Promise<string>

/** A Runner whose isolates answer in turn. */
function open(...answers: readonly Answer[]) {
  const ids: string[] = []
  const run: PluginRunnerStub['run'] = (request, port) => {
    ids.push(request.isolate)
    return answers[ids.length - 1]!(port)
  }
  const tools = { call: async () => 'called' }
  const deps = { runner: () => ({ run }), sha256, shimVersion: 'v' }
  const events: EventDraft[] = []
  const context = { ...createToolContext(), emit: (event: EventDraft) => void events.push(event) }
  const granted = createGrantedIsolate(deps, context, { tools, record: { plugin: 'code' } })
  return { run: () => granted.isolate.run('return 1'), ids, events, spent: granted.spent }
}

const fault = (code: string): string => JSON.stringify({ error: { code, message: '' } })
const value = JSON.stringify({ value: { result: 7, logs: [] } })

it('P32: each run costs one isolate, and is told', async () => {
  const { run, events, spent } = open(
    async () => value,
    async () => value,
  )
  expect(await run()).toEqual({ result: 7, logs: [] })
  await run()
  expect(spent()).toMatchObject({ costNanoUsd: 4_000_000 })
  expect(events).toMatchObject(
    Array(2).fill({
      type: 'isolate_started',
      data: {
        plugin: 'code',
        isolate: expect.stringMatching(/^[\da-f]{12}$/),
        costNanoUsd: 2_000_000,
      },
    }),
  )
})

it('P32: code that stopped without an answer is not begun again', async () => {
  const { run, ids } = open(
    async () => fault('crashed'),
    async () => value,
  )
  await expect(run()).rejects.toThrow('stopped without an answer')
  expect(ids).toHaveLength(1)
})

it.each(['storage.get', 'isolate.run', 'database.query', 'log', 'constructor'])(
  'P32: code cannot ask for %s',
  async (verb) => {
    const answer = { text: '' }
    const { run } = open(async (port) => {
      answer.text = await port(verb, JSON.stringify(['kv__get', {}]))
      return value
    })
    await run()
    expect(answer.text).toContain('There is only tools.call.')
  },
)

it.each(['', 'no json', '[]', '{"value":1}', JSON.stringify({ value: { result: 1, logs: [7] } })])(
  'takes %j for no answer',
  async (text) => {
    await expect(open(async () => text).run()).rejects.toThrow('stopped without an answer')
  },
)
