import { describe, expect, it, vi } from 'vitest'
import kv from 'isolated:plugins/kv'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { isolate, isolatedEntries } from '../fakes/isolates.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { toFolder, type Probe } from './probe.ts'
import { answerProbes, errorProbes, moduleProbes } from './probes-answers.ts'
import { codeProbes, networkProbes, surroundingProbes } from './probes-inside.ts'
import { dataOf } from '../fakes/events.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate: toIsolated }, probe, inside, answers, neighbour] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('./probe.ts'),
    import('./probes-inside.ts'),
    import('./probes-answers.ts'),
    import('isolated:plugins/kv'),
  ])
  const probes = [...Object.values(inside), ...Object.values(answers)].flat()
  const bundledPlugins: readonly BundledPlugin[] = [
    neighbour.default,
    ...probes.map((one) => probe.toFolder(one)),
  ].map((folder) => toIsolated(folder, 'community'))
  return { bundledPlugins }
})

/** The one server that answers: its redirect points at this machine. */
const network = async (url: string): Promise<Response> =>
  url.endsWith('/redirect')
    ? new Response(null, { status: 302, headers: { location: 'https://127.0.0.1/' } })
    : new Response('hello')

async function attack(probe: Probe): Promise<void> {
  const requests: string[] = []
  const sessions = createFakeGateway()
  const fetch = async (url: string): Promise<Response> => (requests.push(url), network(url))
  const [entry] = isolatedEntries(isolate(toFolder(probe), 'community'), { sessions, fetch })
  const context = createToolContext()
  const result = await entry!.tool.execute({}, context)
  probe.expect({ result, events: context.events })
  // What the host refused is on the record; what the runtime refused inside, the host never saw.
  if (/not granted/.test(JSON.stringify(result)))
    expect(
      context.events.filter(
        (event) => event.type === 'capability_refused' || dataOf(event)['refused'] === true,
      ),
    ).not.toEqual([])
  expect(requests.filter((url) => !url.startsWith('https://api.example.com/'))).toEqual([])
  expect(JSON.stringify(result).length).toBeLessThan(10_000)
  // The host lives, and so do other plugins in it.
  const [, set] = isolatedEntries(isolate(kv, 'community'), { sessions })
  const after = await set!.tool.execute({ key: 'a', value: probe.name }, createToolContext())
  expect(after).toMatchObject({ ok: true, output: { stored: 'a' } })
}

const suites: readonly (readonly [string, readonly Probe[]])[] = [
  ['T5: the network', networkProbes],
  ['T6: code that nobody saw', codeProbes],
  ['T4, T8: what lies around', surroundingProbes],
  ['T9, F27: answers', answerProbes],
  ['T9: errors', errorProbes],
  ['P23: modules that are no plugin', moduleProbes],
]

for (const [name, probes] of suites) {
  describe(`a hostile plugin is refused, ${name}`, () => {
    it.each(probes.map((probe) => [probe.name, probe] as const))('%s', (_name, probe) =>
      attack(probe),
    )
  })
}
