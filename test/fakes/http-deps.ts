import openApi from '../../docs/openapi.json'
import { defaultExposure } from '../../src/runtime/catalog/types/generation.ts'
import { createTryPolicy } from '../../src/features/policy/decide-tool.ts'
import { defaultToolPolicy } from '../../src/runtime/kernel/types/tool-policy.ts'
import type { GivenUpRun, GivenUpRuns } from '../../src/runtime/session/types/audit-sink.ts'
import type { AgentResult } from '../../src/contracts/agent.ts'
import { IsolaError } from '../../src/contracts/errors.ts'
import type { StreamItem, ToldEvent } from '../../src/contracts/event.ts'
import { saidLabel } from '../../src/contracts/label.ts'
import { unlimited, zeroUsage } from '../../src/contracts/lease.ts'
import type { JsonObject } from '../../src/contracts/json.ts'
import type { ModelProvider } from '../../src/contracts/model.ts'
import type { AuditQuery } from '../../src/features/record/types/operations.ts'
import type { SessionQuery } from '../../src/contracts/operations.ts'
import type { ObjectReply } from '../../src/contracts/reply.ts'
import type {
  ParkedView,
  RunOutcome,
  RunView,
  SessionTree,
} from '../../src/runtime/session/types/session-view.ts'
import type { SessionApi, SessionGateway } from '../../src/runtime/session/types/session-api.ts'
import type { SubmitRequest, SubmitReceipt } from '../../src/runtime/session/types/submission.ts'
import type { Sources } from '../../src/contracts/sources.ts'
import { createAuthenticator } from '../../src/features/access/logins.ts'
import { createKeyAdministration } from '../../src/features/access/key-administration.ts'
import { createTrustAdministration } from '../../src/features/access/trust-administration.ts'
import { createSealing } from '../../src/features/access/secrets/sealing.ts'
import { createSecretAdministration } from '../../src/features/access/secrets/secret-administration.ts'
import { createHttpApp, type AppDeps } from '../../src/surfaces/http/app.ts'
import type { GoneClient } from '../../src/platform/routes/types.ts'
import { routeTable, type RouteDeps } from '../../src/routes.gen.ts'
import { composeEntry } from '../../src/runtime/session/entry/run-input.ts'
import type { ErrorBody } from '../../src/platform/routes/errors.ts'
import { createMemoryKeys, noOtherKeys } from './keys.ts'
import { createFakeKnowledge, createFakeLongTerm } from './long-term.ts'
import { createMemoryTrust } from './trust.ts'
import { shelfOf } from './skills.ts'
import { createMemorySecrets, masterKeyOf, sealingSources } from './secrets.ts'

/** The dependencies of the app and all of its routes. */
type HttpDeps = AppDeps & RouteDeps

const noSuchServer = async () => {
  throw new IsolaError('request_not_found', 'There is no such MCP server.')
}
const noMcpServers = {
  own: { show: noSuchServer, begin: noSuchServer, finish: noSuchServer, end: noSuchServer },
  forget: async () => [],
  list: async () => [],
  show: noSuchServer,
  look: noSuchServer,
  change: noSuchServer,
  approve: noSuchServer,
  login: noSuchServer,
  finishLogin: noSuchServer,
  clientMetadata: () => ({}),
}

const noDrafts: HttpDeps['skillDrafts'] = {
  list: async () => [],
  find: async () => undefined,
  promote: async () => false,
  remove: async () => false,
}

const noAgent = async () => {
  throw new IsolaError('request_not_found', 'There is no such agent.')
}
const noAgents: HttpDeps['storedAgents'] = {
  apply: noAgent,
  onDemand: noAgent,
  list: async () => [],
  show: noAgent,
  versions: noAgent,
  approve: noAgent,
  rollBack: noAgent,
  setState: noAgent,
  remove: noAgent,
}

export const testKey = 'isk_test'
export const testSession = `ses_${'S'.repeat(22)}`
export const testRun = `run_${'R'.repeat(22)}`
export const testTrace = 'ab'.repeat(16)

/** Counted ids in the real shapes, and a clock that stands at one moment; `tick` ends the sleeps under way. */
export function createCountedSources() {
  let count = 0
  let nowMs = 1_790_000_000_000
  const sleepers = new Set<() => void>()
  const sources: Sources = {
    sha256: (text) => `sha256:${text}`,
    clock: {
      nowMs: () => nowMs,
      sleep: (_ms, signal) =>
        new Promise((resolve) => {
          sleepers.add(resolve)
          signal?.addEventListener('abort', () => resolve())
        }),
    },
    ids: {
      next: (prefix) => `${prefix}_${String(++count).padStart(22, '0')}`,
      traceId: () => testTrace,
    },
  }
  const tick = (ms: number) => {
    nowMs += ms
    for (const wake of sleepers) wake()
    sleepers.clear()
  }
  return { sources, tick }
}

export function resultOf(overrides: Partial<AgentResult> = {}): AgentResult {
  return {
    id: testRun,
    success: true,
    state: 'completed',
    result: 'Hello there',
    startedAtMs: 1,
    finishedAtMs: 2,
    sessionId: testSession,
    agent: 'orchestrator',
    trace: testTrace,
    steps: 1,
    actions: [],
    modelCalls: [],
    usage: { ...zeroUsage, tokens: 12, inputTokens: 7, outputTokens: 5, modelCalls: 1 },
    costEstimateUsd: 0,
    provenance: { template: 'orchestrator', version: '1', models: ['scripted/one'] },
    ...overrides,
  }
}

/** A run that waits for an approval. */
export const parked: ParkedView = {
  id: testRun,
  sessionId: testSession,
  agent: 'orchestrator',
  trace: testTrace,
  state: 'parked',
  pauses: [
    {
      call: 'call_1',
      kind: 'approval',
      expires: true,
      tool: 'http__request',
      input: { url: 'https://example.com' },
      definitionHash: 'd1',
      argsHash: 'ab'.repeat(32),
      sinceMs: 1,
      expiresAtMs: 2,
    },
  ],
}

/** Reads the error of a response. */
export async function errorOf(response: Response): Promise<ErrorBody> {
  return ((await response.json()) as { error: ErrorBody }).error
}

export function delta(text: string, at: { turn?: number; offset?: number } = {}): StreamItem {
  const { turn = 1, offset = 0 } = at
  return { type: 'message_delta', run: testRun, turn, offset, text }
}

export function finished(result: AgentResult, seq = 9): ToldEvent {
  const data = { state: result.state, turns: 1, result }
  return {
    type: 'run_finished',
    run: testRun,
    agent: 'orchestrator',
    trace: testTrace,
    atMs: 5,
    seq,
    data,
  }
}

export function linesOf(items: readonly StreamItem[]): ReadableStream<Uint8Array> {
  const text = items.map((item) => `${JSON.stringify(item)}\n`).join('')
  return new Response(text).body as ReadableStream<Uint8Array>
}

export interface Call {
  readonly session: string
  readonly method: string
  readonly args: readonly unknown[]
}

/** The request data of the last submission, as a session keeps it. */
function echoIn(calls: readonly Call[]): JsonObject {
  const last = calls.findLast(({ method }) => ['submit', 'run', 'runStream'].includes(method))
  return (last?.args[1] as SubmitRequest | undefined)?.echo ?? {}
}

export interface FakeOptions {
  /** Overrides of a deployment without agents of their own. */
  readonly storedAgents?: Partial<HttpDeps['storedAgents']>
  readonly result?: AgentResult
  /** The result of a run that is waited for, in place of `result`. */
  readonly outcome?: RunOutcome
  /** Overrides of the view of a run that is over. */
  readonly view?: Partial<RunView>
  /** Overrides of a fresh receipt. */
  readonly receipt?: Partial<SubmitReceipt>
  readonly stream?: () => ReadableStream<Uint8Array>
  /** The answer of every session method, in place of its own. */
  readonly refusal?: Extract<ObjectReply<never>, { ok: false }>['error']
  readonly fault?: unknown
  /** Whether a deletion is refused for now. */
  readonly isKept?: () => boolean
  /** The session's owner: for any other principal the session is not there. Absent: every principal is answered. */
  readonly owner?: string
  /** The operator's list. */
  readonly givenUp?: readonly GivenUpRun[]
  /** Where runs are, by their ids. */
  readonly places?: Readonly<
    Record<string, { readonly session: string; readonly principal: string }>
  >
  readonly deps?: Partial<HttpDeps>
}

const noUsage = {
  runs: 0,
  modelCalls: 0,
  toolCalls: 0,
  tokens: 0,
  inputTokens: 0,
  outputTokens: 0,
  costNanoUsd: 0,
  platform: {},
  platformNanoUsd: 0,
}
const ok = <T>(value: T): ObjectReply<T> => ({ ok: true, value })
const freshReceipt: SubmitReceipt = {
  session: testSession,
  run: testRun,
  isJoined: false,
  state: 'running',
  createdAtMs: 1_790_000_000_000,
}

/** The app over sessions that answer what they are told and write down what they were asked. */
export function createFakeApp(options: FakeOptions = {}) {
  const calls: Call[] = []
  const gone: GoneClient[] = []
  const faults: unknown[] = []
  const audits: AuditQuery[] = []
  const lists: SessionQuery[] = []
  const { sources, tick } = createCountedSources()
  const result = options.result ?? resultOf()
  const receipt = { ...freshReceipt, ...options.receipt }
  const stream = options.stream ?? (() => linesOf([delta('Hello there'), finished(result)]))

  const at = (session: string): SessionApi => {
    const answer =
      <T>(method: string, make: () => T) =>
      async (...args: readonly unknown[]): Promise<ObjectReply<T>> => {
        calls.push({ session, method, args })
        if (options.fault !== undefined) throw options.fault
        return options.refusal ? { ok: false, error: options.refusal } : ok(make())
      }
    const answerOwner =
      <T>(method: string, make: () => T) =>
      async (principal: string, ...args: readonly unknown[]): Promise<ObjectReply<T>> => {
        if (options.owner === undefined || options.owner === principal)
          return answer(method, make)(principal, ...args)
        await answer(method, () => undefined)(principal, ...args)
        return { ok: false, error: { code: 'request_not_found', message: 'Not there.' } }
      }
    const view = {
      id: testRun,
      session,
      agent: 'orchestrator',
      state: 'completed' as const,
      createdAtMs: 1,
      ...(options.view?.state !== 'parked' && { result }),
      ...options.view,
    }
    const memo = () => {
      const echoes = { '0': echoIn(calls) }
      return { createdAtMs: 1, state: 'completed' as const, isHidden: false, echoes }
    }
    const tree: SessionTree = {
      id: session,
      agent: 'code-reviewer',
      principal: 'operator',
      createdAtMs: 1,
      runs: [view],
      usage: zeroUsage,
      costEstimateUsd: 0,
      children: [],
    }
    return {
      create: answer('create', () => tree),
      amend: answer('amend', () => tree),
      items: answer('items', () => ({ items: [], hasMore: false })),
      submit: answer('submit', () => ({ ...receipt, session })),
      run: answer('run', () => options.outcome ?? result),
      runStream: answer('runStream', () => ({
        receipt: { ...receipt, session },
        reader: 'reader',
        stream: stream(),
      })),
      owner: answer('owner', () => options.owner ?? tree.principal),
      result: answerOwner('result', () => view),
      recall: answer('recall', memo),
      hide: answer('hide', () => ({ ...memo(), isHidden: true })),
      forgetTexts: answer('forgetTexts', () => ({ changed: 1 })),
      events: answerOwner('events', stream),
      cancel: answerOwner('cancel', () => view),
      abandon: answer('abandon', () => view),
      steer: answer('steer', () => ({ session, run: testRun, place: 1 })),
      decide: answerOwner('decide', () => view),
      changeLimits: answerOwner('changeLimits', () => view),
      retry: answer('retry', () => ({ ...receipt, session })),
      cancelCall: async () => undefined,
      reclaim: answerOwner('reclaim', () => ({
        holder: 'support__run',
        state: 'ended' as const,
        sinceMs: 1,
        untilMs: 2,
        messages: 0,
        maxMessages: 1,
        tokens: 0,
        maxTokens: 1,
        costUsd: 0,
      })),
      deliver: answer('deliver', () => null),
      confirm: answer('confirm', () => ({
        settlement: {
          held: { tokens: 5_000, costNanoUsd: 2_000_000 },
          spent: { tokens: 0, costNanoUsd: 0 },
        },
        isNew: true,
        principal: 'operator',
        agent: 'orchestrator',
      })),
      spentBy: async () => ({ state: 'over', usage: zeroUsage }),
      giveBack: async () => ({}),
      endHeld: async () => undefined,
      worksWith: async () => false,
      transcript: answerOwner('transcript', () => ({
        messages: [{ role: 'user' as const, text: 'Hi', taint: ['user' as const] }],
      })),
      about: answerOwner('about', () => tree),
      tree: answerOwner('tree', () => tree),
      compact: answer('compact', () => ({ result, createdAtMs: 1 })),
      context: answerOwner('context', () => {
        return { agent: 'code-reviewer', tokens: 0, parts: [], saidMessages: 0 }
      }),
      delete: answerOwner('delete', () => {
        if (options.isKept?.())
          throw new IsolaError('request_unavailable', 'It is kept. Try again.')
        return { deleted: true as const }
      }),
      storage: async () => ({}),
    }
  }

  const principals = options.deps?.principals ?? {
    usage: async () => ({
      day: '2026-09-21',
      limits: { tokens: 1_000, costNanoUsd: unlimited },
      settled: { tokens: 100, costNanoUsd: 2_500_000_000 },
      reserved: { tokens: 40, costNanoUsd: 0 },
      openRuns: 1,
    }),
    incidents: async () => [],
    clearIncident: async () => {},
  }
  const sessions: SessionGateway = options.deps?.sessions ?? {
    at,
    idFor: async (kind, parts) => `ses_${btoa([kind, ...parts].join('|')).replace(/\W/g, '')}`,
  }
  const deps: HttpDeps = {
    sessions,
    entry: composeEntry({ ...sources, sessions, usage: (id) => principals.usage(id) }),
    agents: {
      load: async () => undefined,
      tools: async () => [],
      offers: async () => ({ resources: [], prompts: [] }),
      promptUnder: async ({ pinned }) => ({
        tokens: 900,
        most: 1_500,
        pinned: pinned.slice(0, 6).map((name) => ({ name, tokens: 100 })),
        left: pinned.slice(6),
      }),
      toolNames: async () => ['kv__get', 'kv__set', 'http__request', 'files__read'],
      list: () => [
        { name: 'code-reviewer', description: 'Reviews code.', integrationMode: 'tool' as const },
      ],
    },
    models: {
      provider: fakeProvider,
      list: () => [{ id: 'scripted/one', provider: 'scripted' }],
      status: () => [{ id: 'scripted/one', capabilities: { tools: true } }],
    },
    authenticate: createAuthenticator({ ...noOtherKeys, operatorKey: testKey }),
    limits: { request: async () => {}, visitor: async () => {}, newSession: async () => {} },
    keys: createKeyAdministration({ ...sources, keys: createMemoryKeys() }),
    memory: createFakeLongTerm(),
    knowledge: createFakeKnowledge(),
    erasures: {
      begin: async () => Promise.reject(new Error('not in this test')),
      find: async () => Promise.reject(new Error('not in this test')),
      list: async () => [],
    },
    trust: createTrustAdministration({ ...sources, store: createMemoryTrust() }),
    audit: {
      query: async (query) => {
        audits.push(query)
        return { records: [], last: 0 }
      },
    },
    schedules: {
      find: async () => undefined,
      list: async () => [],
      syncPlugins: async () => {},
      ofAgents: {
        check: async () => {},
        sync: async () => {},
        removed: async () => {},
        syncBehind: async () => {},
      },
      glance: () => undefined,
      ask: async () => {
        throw new IsolaError('request_not_found', 'There is no such schedule.')
      },
    },
    sessionIndex: {
      idsOf: async () => ['ses_1'],
      placeOf: async (run) => options.places?.[run],
      list: async (query) => {
        lists.push(query)
        return { sessions: [] }
      },
    },
    givenUp: createGivenUpRuns(options.givenUp),
    approvals: {
      list: async () => ({ entries: [] }),
      find: async () => undefined,
      mark: async () => {},
    },
    approvalRules: { list: async () => [], revoke: async () => false },
    modelReport: { since: async () => [] },
    usage: { sum: async () => ({ rows: [], total: noUsage }) },
    metrics: { since: async () => ({ agents: [], tools: [], models: [] }) },
    principals,
    database: async () => 'ok',
    readiness: async () => ({ state: 'ready', migration: '0001_isola.sql' }),
    sources,
    version: '0.1.0',
    isDevelopment: true,
    stateKey: 'a key of at least thirty-two bytes',
    pluginProblems: async () => [],
    tryPolicy: createTryPolicy([]),
    skills: shelfOf([]),
    skillDrafts: noDrafts,
    storedAgents: { ...noAgents, ...options.storedAgents },
    skillAdmission: {
      read: async () => ({ skills: [], refused: [] }),
      changes: async () => undefined,
    },
    plugins: {
      list: async () => [],
      show: async () => undefined,
      failed: async () => [],
      generations: async () => [],
      policy: async () => ({ generation: 0, policy: defaultToolPolicy }),
      exposed: async () => ({ generation: 0, exposed: defaultExposure }),
      change: async () => ({ generation: 1, notes: [] }),
    },
    mcp: noMcpServers,
    purgePlugin: async () => {},
    toldAnswers: { labelled: async (_principal, messages) => messages },
    toldClients: { said: async () => saidLabel, tell: async () => {} },
    deploymentLog: { append: async () => {} },
    readAsset: async (path) =>
      path === '/openapi.json'
        ? new Response(JSON.stringify(openApi))
        : new Response('', { status: 404 }),
    readUpload: async () => {
      throw new IsolaError('plugin_upload_invalid', 'Not in this test.')
    },
    secrets: createSecretAdministration({
      ...sources,
      secrets: createMemorySecrets(),
      sealing: createSealing({ current: masterKeyOf(1), previous: undefined }, sealingSources),
      learn: () => undefined,
    }),
    secretProblem: () => undefined,
    costLimits: async () => [],
    onClientGone: (client) => void gone.push(client),
    onFault: (error) => void faults.push(error),
    ...options.deps,
  }
  const app = createHttpApp(deps, routeTable)

  const send = (path: string, init: RequestInit & { json?: unknown } = {}) => {
    const { json, ...rest } = init
    const headers = new Headers(init.headers)
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${testKey}`)
    if (!headers.has('host')) headers.set('host', 'localhost')
    if (json !== undefined) headers.set('content-type', 'application/json')
    return app.request(path, {
      ...rest,
      headers,
      ...(json !== undefined && { method: init.method ?? 'POST', body: JSON.stringify(json) }),
    })
  }
  const submitted = (): SubmitRequest => {
    const call = calls.findLast(({ method }) => ['submit', 'run', 'runStream'].includes(method))
    if (!call) throw new Error('nothing was submitted')
    return call.args[1] as SubmitRequest
  }
  return { app, send, calls, submitted, gone, faults, audits, lists, tick }
}

/** The list as the table keeps it: only what is open is decided. */
export function createGivenUpRuns(rows: readonly GivenUpRun[] = []): GivenUpRuns {
  let runs = rows
  return {
    list: async ({ state, limit }) => runs.filter((row) => row.state === state).slice(0, limit),
    find: async (run) => runs.find((row) => row.run === run),
    resolve: async (run, state) => {
      runs = runs.map((row) => (row.run === run && row.state === 'open' ? { ...row, state } : row))
    },
  }
}

/** Serves `scripted/*` and `gpt-test`; anything else would be a substitute. */
const fakeProvider: ModelProvider = {
  id: 'scripted',
  select: (model) => {
    const isServed = model === undefined || model === 'gpt-test' || model.startsWith('scripted/')
    return { provider: 'scripted', model: 'one', substituted: !isServed }
  },
  estimate: () => ({ tokens: 0, costNanoUsd: 0 }),
  generate: async () => {
    throw new IsolaError('model_unavailable', 'Not in this test.')
  },
}
