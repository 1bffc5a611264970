import { describe, expect, it } from 'vitest'
import type { Carrier } from '#contracts/outbound.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import { createOtlpExporter } from '../../../src/features/record/telemetry/otlp-exporter.ts'
import { createUpstream } from '../../../src/features/access/oauth/oidc/upstream.ts'
import { createGuardedFetch } from '../../../src/features/mcp-servers/guarded-fetch.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createOpenAiProvider } from '../../../src/platform/models/openai-provider.ts'
import { fetchArchive } from '../../../src/features/plugins/admission/fetch-archive.ts'
import { resultOf } from '../../fakes/http-deps.ts'
import { outboundOver } from '../../fakes/outbound.ts'
import { createSecretWorld } from '../../fakes/secret-world.ts'
import { callOptions } from '../models/call-options.ts'

// Everything of ours that sends requests, each as its room does it: what holds for one holds for all.

const allow = { elicitation: false } as const
const record: RunRecord = {
  run: 'run_1',
  session: 'ses_1',
  agent: 'tester',
  trace: 'c0ffee00'.repeat(4),
  startedAtMs: 0,
  final: resultOf({ startedAtMs: 0, finishedAtMs: 1, result: 'x' }),
  content: { instructions: '', messages: [] },
  turns: [],
}
const stacks: Record<string, (network: Carrier) => Promise<unknown>> = {
  'a plugin': async (network) => {
    const { fetch } = createSecretWorld({ answer: network })
    return (await fetch('https://api.example/')).text()
  },
  'an archive': (network) =>
    fetchArchive('https://api.example/a.zip', { send: outboundOver(network).send }),
  'a remote server': async (network) => {
    const config = {
      url: 'https://api.example/mcp',
      id: 'srv',
      headers: {},
      auth: 'headers' as const,
      authHosts: [],
      allow,
      timeoutMs: 1_000,
    }
    const deps = { readSecrets: async () => new Map<string, string>(), onSecret: () => {} }
    const fetch = createGuardedFetch(config, { ...outboundOver(network), ...deps })
    return (await fetch('https://api.example/mcp', { method: 'POST', body: '{}' })).text()
  },
  'a provider of sign-ins': async (network) => {
    const upstream = createUpstream({
      issuer: 'https://api.example',
      clientId: 'c',
      clientSecret: undefined,
      send: outboundOver(network).send,
      clock: { nowMs: () => 0 },
      randomBytes: (count) => new Uint8Array(count),
    })
    const secrets = { ...upstream.prepare(), origin: 'https://isola.example' }
    if (!(await upstream.begin(secrets))) throw new Error('not reached')
  },
  'a model server': (network) =>
    createOpenAiProvider({
      baseUrl: 'https://api.example/v1',
      send: outboundOver(network).send,
      sleep: () => new Promise(() => {}),
      tokens: createTokenEstimator(),
      priceOf: () => undefined,
    }).generate(
      { model: 'm', messages: [], tools: [], parameters: {} },
      callOptions({ isUnwatched: true }),
    ),
  'a collector': (network) =>
    createOtlpExporter({
      url: 'https://api.example/v1/traces',
      headers: { authorization: 'Bearer x' },
      serviceName: 's',
      version: '1',
      redact: (text) => text,
      send: outboundOver(network).send,
    }).export(record),
}

const endless = (onPull: () => void) =>
  new ReadableStream<Uint8Array>({
    pull(controller) {
      onPull()
      controller.enqueue(new Uint8Array(1_048_576))
    },
  })

describe.each(Object.entries(stacks))('T5: what asks %s', (_name, ask) => {
  it.each(['https://10.0.0.1/', 'http://127.0.0.1/', 'https://other.example:8443/'])(
    'T16: does not follow a redirect to %s',
    async (location) => {
      const asked: string[] = []
      await ask(async (url, { redirect }) => {
        expect(redirect).toBe('manual')
        asked.push(new URL(url).hostname)
        return new Response(null, { status: 307, headers: { location } })
      }).catch(() => {})
      expect(asked).toEqual(['api.example'])
    },
  )

  it.each([undefined, 'gzip'])(
    'T15: reads an endless answer no further than its cap (%s)',
    async (encoding) => {
      let pulled = 0
      const headers = {
        'content-type': 'application/json',
        'content-length': '5',
        ...(encoding && { 'content-encoding': encoding }),
      }
      const answer = async () => {
        // What says its length is as long, where nothing is packed: the platform ends it there.
        const isFramed = encoding === undefined
        const body = isFramed ? 'x'.repeat(5) : endless(() => (pulled += 1))
        return new Response(body, { headers })
      }
      await ask(answer).catch(() => {})
      expect(pulled).toBeLessThan(12)
    },
  )

  it('lets go of an answer that it refuses', async () => {
    let isLetGo = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => void (isLetGo = true),
    })
    await ask(async () => new Response(body, { status: 404 })).catch(() => {})
    // A plugin, and the library of a remote server, are handed what came, whatever its status: up to their cap.
    await new Promise((resolve) => setImmediate(resolve))
    expect(isLetGo).toBe(true)
  })
})
