import {
  StreamableHTTPClientTransport,
  Client,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client'
import { isIdleStream, type createGuardedFetch, mayAsk } from './guarded-fetch.ts'
import { within } from './until-aborted.ts'
import { defined } from '#contracts/defined.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { SchemaValidator } from '#contracts/tool.ts'
import type { AskedRaw } from './in-call.ts'
import { failWithStream } from './call-failure.ts'
import { readingRaw } from './raw-replies.ts'

const maxWaitMs = 2_000
/** So soon what the library sends of itself, such as a cancel, is on its way. */
const settleMs = 50

/**
 * The stream of a session over which a server of 2025-11-25 asks questions that it does not tie to a request. It must
 * be open before the first call: the server's earlier questions would be lost. It ends with the connection.
 */
function createAskingStream(fetch: ReturnType<typeof createGuardedFetch>) {
  const { promise: isThere, resolve: heard } = Promise.withResolvers<void>()
  const sending = new Set<Promise<unknown>>()
  const watch = (sent: Promise<unknown>): void => {
    const done = sent.then(
      () => {},
      () => {},
    )
    sending.add(done)
    void done.then(() => sending.delete(done))
  }
  return {
    fetch: async (...[url, init]: Parameters<typeof fetch>): Promise<Response> => {
      if (init && isIdleStream(init)) return openOnce(() => fetch(url, init)).finally(heard)
      const answered = fetch(url, init)
      if (isNotice(init)) watch(answered)
      return answered
    },
    /** @param before A session that goes on: the library opens the stream when it says that it is ready. */
    async open(client: Client, before: object | undefined): Promise<void> {
      if (before) await client.notification({ method: 'notifications/initialized' })
      await within(maxWaitMs, () => isThere).catch(() => {})
    },
    /** Waits until sent messages, such as a cancel, have arrived; not for long. */
    async settled(): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, settleMs))
      await within(maxWaitMs, () => Promise.all(sending)).catch(() => {})
    },
  }
}

/** A server takes one such stream of a session, and may not have noticed yet that the one before ended. */
async function openOnce(open: () => Promise<Response>, tries = 10): Promise<Response> {
  const response = await open()
  if (response.status !== 409 || tries === 0) return response
  await response.body?.cancel()
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  return openOnce(open, tries - 1)
}

/** A message that expects no answer; the answer to a call can take long. */
const isNotice = (init: RequestInit | undefined): boolean =>
  typeof init?.body === 'string' && init.body.includes('"method":"notifications/')

/** The facts by which a connection goes on after the object slept, without a request. */
export type Resume =
  | { readonly era: 'modern'; readonly discover: JsonObject }
  | { readonly era: 'legacy'; readonly sessionId: string; readonly protocolVersion: string }
  /** A server of the older protocol that keeps no session: it needs its handshake each time. */
  | { readonly era: 'plain' }

/** A connection that is open, and how to go on with its session later. */
export interface Connection {
  readonly client: Client
  readonly resume: Resume
  /** Once what is on its way, such as a cancel, has been taken. */
  readonly close: () => Promise<void>
}

/** The dependencies of a connection. */
export interface ConnectDeps {
  readonly guardedFetch: ReturnType<typeof createGuardedFetch>
  readonly validator: SchemaValidator
  readonly version: string
  readonly provider?: OAuthClientProvider
  /** Answers what the server asks in the middle of a call; it may ask nothing if absent. */
  readonly answer?: (asked: AskedRaw) => Promise<Json>
  /** Told when the server says that a list is another one now. */
  readonly onListChanged: () => void
}

type Reached = Pick<McpServerConfig, 'url' | 'allow'>

/** Step-ups of one request, as the specification's limit of retries has it. */
const maxStepUps = 2

/** The library's client, with our fetch, our validator and nothing of its own that could grow or wait. */
export function openClient(
  { url, allow }: Reached,
  { guardedFetch, validator, version, provider, answer, onListChanged }: ConnectDeps,
  resume?: Resume,
) {
  const client = new Client(
    { name: 'isola', version },
    {
      // A server without a grant is offered nothing: it cannot ask a person or a model through us (docs/security.md
      // T18).
      capabilities: {
        ...(answer && allow.elicitation && { elicitation: { form: { applyDefaults: true } } }),
        ...(answer && allow.sampling && { sampling: {} }),
      },
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: mayAsk(allow), maxRounds: 5 },
      // The library's own would run the server's `pattern` on the native RegExp (docs/security.md T15).
      jsonSchemaValidator: {
        getValidator: (schema) => (input) => {
          const verdict = validator.validate(schema as JsonObject, input as JsonObject)
          return verdict.ok
            ? { valid: true, data: input as never, errorMessage: undefined }
            : { valid: false, data: undefined, errorMessage: `${verdict.path} ${verdict.message}` }
        },
      },
    },
  )
  for (const list of ['tools', 'resources', 'prompts'] as const)
    client.setNotificationHandler(`notifications/${list}/list_changed`, onListChanged)
  // In the words of the protocol: what came was parsed by the schemas of these very words.
  if (allow.elicitation && answer)
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => (await answer({ kind: 'elicit', params })) as never,
    )
  if (allow.sampling && answer)
    client.setRequestHandler(
      'sampling/createMessage',
      async ({ params }) => (await answer({ kind: 'sample', params })) as never,
    )
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: guardedFetch,
    maxStepUpRetries: maxStepUps,
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 10_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 3,
    },
    ...defined({ authProvider: provider }),
    ...(resume?.era === 'legacy' && {
      sessionId: resume.sessionId,
      protocolVersion: resume.protocolVersion,
    }),
  })
  failWithStream(transport)
  return { client, transport }
}

/** Connects; with what is known from before a server of today's protocol, or with a session, is asked nothing. */
export async function connect(
  config: Reached,
  deps: ConnectDeps,
  {
    resume,
    timeoutMs,
  }: {
    readonly resume?: Resume | undefined
    readonly timeoutMs: number
  },
): Promise<Connection> {
  const stream = createAskingStream(readingRaw(deps.guardedFetch))
  const { client, transport } = openClient(config, { ...deps, guardedFetch: stream.fetch }, resume)
  const options = { timeout: timeoutMs }
  const prior = priorOf(resume)
  await client.connect(transport, { ...options, ...defined({ prior }) })
  const isOlder = !client.getDiscoverResult()
  if (deps.answer && mayAsk(config.allow) && isOlder) await stream.open(client, resume)
  // A server that may ask can still be waiting for its cancel: close only after that was sent.
  const close = async () => {
    if (mayAsk(config.allow)) await stream.settled()
    await client.close()
  }
  return { client, resume: resumeOf(client, transport, resume), close }
}

const maxEndMs = 5_000

/** Ends a session at its server (HTTP DELETE). Throws if the server does not answer within 5 s. */
export async function endSession(
  config: Reached,
  deps: ConnectDeps,
  resume: Extract<Resume, { readonly era: 'legacy' }>,
): Promise<void> {
  const { transport } = openClient(config, deps, resume)
  await transport.start()
  try {
    await within(maxEndMs, () => transport.terminateSession())
  } finally {
    await transport.close()
  }
}

type Prior = NonNullable<NonNullable<Parameters<Client['connect']>[1]>['prior']>

function priorOf(resume: Resume | undefined): Prior | undefined {
  if (!resume) return undefined
  // It was the library that gave it, and it checks it again.
  return resume.era === 'modern'
    ? ({ kind: 'modern', discover: resume.discover } as unknown as Prior)
    : { kind: 'legacy' }
}

function resumeOf(
  client: Client,
  transport: StreamableHTTPClientTransport,
  before: Resume | undefined,
): Resume {
  const discover = client.getDiscoverResult()
  if (discover)
    return { era: 'modern', discover: JSON.parse(JSON.stringify(discover)) as JsonObject }
  const { sessionId } = transport
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? transport.protocolVersion
  if (sessionId === undefined || protocolVersion === undefined) return before ?? { era: 'plain' }
  return { era: 'legacy', sessionId, protocolVersion }
}
