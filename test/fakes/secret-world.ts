import type { EventDraft } from '#contracts/event.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { RequestedGrants } from '#contracts/manifest/manifest.ts'
import { createEgress, type EgressOptions } from '../../src/features/plugins/capabilities/egress.ts'
import { createCallSecrets } from '../../src/features/plugins/secrets/call-secrets.ts'
import { createPluginSecrets } from '../../src/features/plugins/secrets/secret-capability.ts'
import { sendOver } from './outbound.ts'
import { readerOf } from './secrets.ts'

export interface SecretWorld {
  readonly grants?: RequestedGrants['secrets']
  readonly values?: Readonly<Record<string, string>>
  readonly read?: ReadSecrets
  readonly nonce?: string
  readonly nowMs?: number
  /** Of which hosts besides `api.example`; `*` needs the tier `builtin`. */
  readonly otherHost?: string
  readonly tier?: EgressOptions['tier']
  readonly mayFollow?: EgressOptions['mayFollow']
  readonly answer?: (url: string, init: RequestInit) => Response | Promise<Response>
}

/** One plugin that may ask `api.example` and another host, with its secrets. */
export function createSecretWorld({
  grants = [{ name: 'TOKEN', host: 'api.example', in: 'header' }],
  values = {},
  read = readerOf(values),
  nonce = 'ref_1',
  nowMs = 0,
  otherHost = 'other.example',
  tier = 'community',
  mayFollow = async () => true,
  answer = () => new Response('ok'),
}: SecretWorld = {}) {
  const requests: { url: string; headers: Record<string, string>; body: unknown }[] = []
  const events: EventDraft[] = []
  const emit = (event: EventDraft) => void events.push(event)
  const secrets = createCallSecrets(
    grants,
    { call: 'call_1', emit, plugin: 'demo', tool: 'demo__go' },
    { readSecrets: read, ids: { next: () => nonce }, clock: { nowMs: () => nowMs } },
  )
  const fetch = createEgress({
    grants: ['api.example', otherHost].map((host) => ({ host, methods: ['GET', 'POST'] })),
    tier,
    openNow: async () => () => true,
    mayFollow,
    secrets,
    send: sendOver(
      async (url, init) => {
        const headers = Object.fromEntries(new Headers(init.headers))
        requests.push({ url, headers, body: init.body })
        return answer(url, init)
      },
      { sleep: () => new Promise(() => {}) },
    ),
    emit,
    idempotencyKey: 'key_1',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    signal: new AbortController().signal,
  })
  const refused = () =>
    events.filter(({ type }) => type === 'capability_refused').map(({ data }) => data)
  return { fetch, requests, events, refused, ...createPluginSecrets(secrets) }
}
