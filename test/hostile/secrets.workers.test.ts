import { describe, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { isolate, isolatedEntries } from '../fakes/isolates.ts'
import { readerOf } from '../fakes/secrets.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { toFolder, type Probe } from './probe.ts'
import { canaries, echoProbes, exfiltrationProbes, placeProbes } from './probes-secrets.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate: toIsolated }, probe, probes] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('./probe.ts'),
    import('./probes-secrets.ts'),
  ])
  const all = [...probes.exfiltrationProbes, ...probes.placeProbes, ...probes.echoProbes]
  const bundledPlugins: readonly BundledPlugin[] = all.map((one) =>
    toIsolated(probe.toFolder(one), 'community'),
  )
  return { bundledPlugins }
})

/** Any trace of a canary: its middle as it is, as hex, and in base64 wherever it stands. */
const leak = /canary|63616e617279|Y2FuYXJ5|NhbmFye|jYW5hcn/i

/** A server that repeats the request to its client, in every way it knows. */
function answer(target: string, init: RequestInit): Response {
  const url = new URL(target)
  const headers = [...new Headers(init.headers)]
  const seen = JSON.stringify({ path: url.href, headers })
  const asked = new Headers(init.headers).get('authorization') ?? ''
  const token = asked.replace(/^\w+ /, '')
  const to = (location: string) => new Response(null, { status: 307, headers: { location } })
  const ways: Readonly<Record<string, () => Response>> = {
    '/to': () => to(decodeURIComponent(url.search.slice(1))),
    '/asks': () => to('/isola-secret-IN_PATH-end'),
    '/leak': () => to(`https://other.example.com/?t=${encodeURIComponent(token)}`),
    '/leak-base64': () => to(`https://other.example.com/${btoa(`me:${token}`)}`),
    '/base64': () => new Response([seen, ` ${seen}`, `  ${seen}`, asked].map(btoa).join('\n')),
    '/status': () => new Response('', { status: 400, statusText: `Bad ${asked}` }),
    '/knows': () => new Response(Object.values(canaries).join('\n')),
    '/throw': () => {
      throw new Error(`could not send ${seen}`)
    },
    '/break': () =>
      new Response(new ReadableStream({ pull: () => Promise.reject(new Error(seen)) })),
    '/bytes': () => {
      const bytes = new TextEncoder().encode(seen)
      const start = (controller: ReadableStreamDefaultController) => {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      }
      return new Response(new ReadableStream({ start }))
    },
  }
  const echo = () =>
    new Response(init.method === 'HEAD' ? null : seen, {
      headers: headers.map(([name, value]): [string, string] => [`x-echo-${name}`, value]),
    })
  return (ways[url.pathname] ?? echo)()
}

async function attack(probe: Probe): Promise<void> {
  const requests: { url: string; seen: string }[] = []
  const fetch = async (url: string, init: RequestInit) => {
    requests.push({ url, seen: JSON.stringify([url, [...new Headers(init.headers)], init.body]) })
    return answer(url, init)
  }
  const plugin = isolate(toFolder(probe), 'community')
  const [entry] = isolatedEntries(plugin, { fetch, readSecrets: readerOf(canaries) })
  const context = createToolContext()
  const result = await entry!.tool.execute({}, context)
  probe.expect({ result, events: context.events })
  expect(JSON.stringify([result, context.events])).not.toMatch(leak)
  // No value went to any host but its own.
  const elsewhere = requests.filter(({ url }) => !url.startsWith('https://api.example.com/'))
  expect(JSON.stringify(elsewhere)).not.toMatch(leak)
  expect(elsewhere.filter(({ url }) => !url.startsWith('https://other.example.com/'))).toEqual([])
}

const suites: readonly (readonly [string, readonly Probe[]])[] = [
  ['P22, P24: to take a secret out', exfiltrationProbes],
  ['T5: to lead it somewhere else', placeProbes],
  ['T4: to have it told', echoProbes],
]

it('the fake server does leak the secret without the egress in between', async () => {
  const init = { headers: { authorization: `Bearer ${canaries['HEADER']}` } }
  for (const path of ['base64', 'bytes', 'echo', 'leak', 'leak-base64', 'status']) {
    const { headers, statusText, body } = answer(`https://api.example.com/${path}`, init)
    const told = [...headers].join() + statusText + (await new Response(body).text())
    expect(told, path).toMatch(leak)
  }
})

for (const [name, probes] of suites) {
  describe(`a hostile plugin tries in vain, ${name}`, () => {
    it.each(probes.map((probe) => [probe.name, probe] as const))('%s', (_name, probe) =>
      attack(probe),
    )
  })
}
