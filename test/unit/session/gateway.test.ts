import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SessionApi } from '../../../src/runtime/session/types/session-api.ts'
import type { SubmitRequest } from '../../../src/runtime/session/types/submission.ts'
import { createSessionGateway } from '../../../src/runtime/session/gateway.ts'
import { keyedRunId } from '../../../src/runtime/session/storage/ids.ts'
import { createRandom } from '../../fakes/random.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const session = `ses_${'S'.repeat(22)}`
const run = `run_${'R'.repeat(22)}`
const submission: SubmitRequest = {
  principal: 'operator',
  messages: [{ role: 'user', text: 'x', taint: ['user'] }],
  trace: 'a'.repeat(32),
}

const platformError = (message: string, flags: object = {}) =>
  Object.assign(new Error(message), flags)
const reset = () => platformError('later', { durableObjectReset: true })
const overloaded = () => platformError('Too many requests.', { overloaded: true, retryable: true })

/** A namespace whose n-th call meets the n-th fault; a call past the last one is answered. */
function scripted(faults: readonly unknown[], value: unknown = { ok: true, value: 'here' }) {
  const stubs: string[][] = []
  let calls = 0
  const getByName = () => {
    const seen: string[] = []
    stubs.push(seen)
    return new Proxy(
      {},
      {
        get: (_target, method) => async () => {
          seen.push(String(method))
          const fault = faults[calls]
          calls += 1
          if (fault !== undefined) throw fault
          return value
        },
      },
    )
  }
  const gateway = createSessionGateway({ namespace: { getByName }, sha256 })
  return { api: gateway.at(session), stubs, calls: () => calls }
}

const everyCall: Readonly<Record<keyof SessionApi, (api: SessionApi) => Promise<unknown>>> = {
  create: (api) => api.create({ agent: 'orchestrator', principal: 'operator', session }),
  amend: (api) => api.amend('operator', {}),
  items: (api) => api.items('operator', { limit: 1, order: 'asc' }),
  submit: (api) => api.submit(session, submission),
  run: (api) => api.run(session, submission),
  runStream: (api) => api.runStream(session, submission),
  owner: (api) => api.owner(),
  result: (api) => api.result('operator', run),
  recall: (api) => api.recall('operator', run),
  hide: (api) => api.hide('operator', run),
  forgetTexts: (api) => api.forgetTexts('operator', ['a note']),
  events: (api) => api.events('operator', { afterSeq: 0, follow: false }),
  cancel: (api) => api.cancel('operator', run, 'Enough.'),
  abandon: (api) => api.abandon('operator', run, 'reader'),
  steer: (api) => api.steer('operator', run, submission.messages[0]!),
  decide: (api) => api.decide('operator', run, 'call_1', { decision: 'approve' }),
  changeLimits: (api) =>
    api.changeLimits('operator', run, { limits: { maxTurns: 2 }, isOperator: true }),
  retry: (api) => api.retry(run),
  cancelCall: (api) => api.cancelCall(run, 'call_1', 'Enough.'),
  reclaim: (api) => api.reclaim('operator'),
  confirm: (api) => api.confirm({ run: 'run_1', id: 'a', seq: 1 }),
  deliver: (api) =>
    api.deliver({
      parentRun: run,
      call: 'call_1',
      agent: 'a',
      session,
      isBackground: true,
      result: { ok: true, output: 1 },
    }),
  spentBy: (api) => api.spentBy(run),
  giveBack: (api) => api.giveBack(run),
  endHeld: (api) => api.endHeld('key_1', 'revoked'),
  worksWith: (api) => api.worksWith('key_1'),
  transcript: (api) => api.transcript('operator'),
  tree: (api) => api.tree('operator'),
  compact: (api) => api.compact(session, submission),
  context: (api) => api.context('operator'),
  about: (api) => api.about('operator'),
  delete: (api) => api.delete('operator'),
  storage: (api) => api.storage({ verb: 'clear', space: 's' }),
}
const reads = [
  'owner',
  'result',
  'recall',
  'events',
  'spentBy',
  'worksWith',
  'transcript',
  'items',
  'tree',
  'context',
  'about',
]
const calls = Object.entries(everyCall)

describe('a call of a session', () => {
  it.each(calls)('%s: brings what the object answers', async (method, call) => {
    const { api, stubs } = scripted([])
    expect(await call(api)).toEqual({ ok: true, value: 'here' })
    expect(stubs).toEqual([[method]])
  })

  it.each(calls)('F1, F2: %s: a reset is a 503 to be repeated soon', async (method, call) => {
    const fault = reset()
    const { api, stubs } = scripted([fault, fault])
    await expect(call(api)).rejects.toMatchObject({
      code: 'request_unavailable',
      transient: true,
      retryAfterMs: 2_000,
      cause: { durableObjectReset: true },
    })
    expect(stubs.flat()).toEqual(reads.includes(method) ? [method, method] : [method])
  })

  it.each(calls)('F30: %s: an overload is never asked again', async (method, call) => {
    const { api, calls: made } = scripted([overloaded()])
    await expect(call(api)).rejects.toMatchObject({
      code: 'request_unavailable',
      transient: false,
      retryAfterMs: 5_000,
      cause: { overloaded: true },
    })
    expect([method, made()]).toEqual([method, 1])
  })

  it('F2: that reads finds the object on a new stub', async () => {
    const { api, stubs } = scripted([reset()])
    expect(await api.tree('operator')).toEqual({ ok: true, value: 'here' })
    expect(stubs).toEqual([['tree'], ['tree']])
  })

  it('F30: that reads stops where the second attempt meets an overload', async () => {
    const { api, calls: made } = scripted([reset(), overloaded()])
    await expect(api.tree('operator')).rejects.toMatchObject({ transient: false })
    expect(made()).toBe(2)
  })

  it('F2: uses a new stub after a break, and one stub until then', async () => {
    const { api, stubs } = scripted([undefined, reset()])
    await api.cancel('operator', run, 'a')
    await expect(api.cancel('operator', run, 'b')).rejects.toThrow('connection')
    await api.cancel('operator', run, 'c')
    expect(stubs).toEqual([['cancel', 'cancel'], ['cancel']])
  })
})

describe('an error of a call', () => {
  it.each([
    platformError('Network connection lost.'),
    platformError('Network connection lost.', { retryable: true }),
    platformError('internal error; reference = abc123'),
    platformError('Durable Object reset because its code was updated.'),
    platformError('The Durable Object has been aborted.'),
    platformError(
      'Durable Object storage operation exceeded timeout which caused object to be reset.',
    ),
    platformError('Cannot resolve Durable Object due to transient issue on remote node.'),
    platformError('ctor boom', { durableObjectReset: true }),
    platformError('Application called abortAllDurableObjects().'),
    platformError('Durable Object exceeded its memory limit.'),
  ])('of the platform is a 503: %s', async (fault) => {
    const { api } = scripted([fault])
    await expect(api.submit(session, submission)).rejects.toMatchObject({
      code: 'request_unavailable',
      transient: true,
    })
  })

  it.each([
    platformError('Durable Object is overloaded. Requests queued for too long.'),
    platformError('Your account is generating too much load on Durable Objects. Please back off.'),
  ])('of an overload says so without a flag: %s', async (fault) => {
    const { api } = scripted([fault])
    await expect(api.tree('operator')).rejects.toMatchObject({ transient: false })
  })

  it('F32: of an object that does not know the call yet is a 503', async () => {
    const text = 'The RPC receiver does not implement the method "steer".'
    const { api } = scripted([platformError(text, { remote: true })])
    await expect(api.steer('operator', run, submission.messages[0]!)).rejects.toMatchObject({
      code: 'request_unavailable',
      retryAfterMs: 5_000,
    })
  })

  it.each([
    new TypeError('undefined is not a function'),
    new TypeError('Cannot read properties of undefined (reading "reset")'),
    new Error('What nobody thought of.'),
    platformError('plain bug', { remote: true }),
    // Flags that code in the object set are told from the platform's: `remote` is on what it threw.
    platformError('forged', { remote: true, retryable: true, overloaded: true }),
    platformError('Network connection lost.', { remote: true }),
    platformError('coded', { code: 'request_conflict', remote: true }),
    'a text',
  ])('of ours stays as it is, and nothing is asked again: %s', async (fault) => {
    const { api, calls: made } = scripted([fault])
    await expect(api.tree('operator')).rejects.toBe(fault)
    expect(made()).toBe(1)
  })
})

describe('the advice of a broken submission', () => {
  const messageOf = async (request: SubmitRequest) => {
    const { api } = scripted([reset()])
    return String(await api.submit(session, request).catch((error: Error) => error.message))
  }

  it('F1: names the run that a key would have started', async () => {
    const id = keyedRunId({ session, principal: 'operator', key: 'k' }, sha256)
    expect(id).toMatch(/^run_[0-9A-Za-z]{22}$/)
    const message = await messageOf({ ...submission, idempotencyKey: 'k' })
    expect(message).toContain(`The run ${id} may have been accepted`)
    expect(message).toContain(`/api/sessions/${session}/runs/${id}`)
  })

  it('without a key says where to look, and what makes repeating safe', async () => {
    const message = await messageOf(submission)
    expect(message).toContain('may have been accepted')
    expect(message).toContain(`/api/sessions/${session}`)
    expect(message).toContain('Idempotency-Key')
  })
})

describe('the name of an object', () => {
  it('T2: is another one for any other list of parts', async () => {
    const { idFor } = createSessionGateway({ namespace: { getByName: () => ({}) }, sha256 })
    const random = createRandom(7)
    const parts = [
      '',
      'a',
      'ab',
      '1:a',
      '2:ab',
      'operator',
      'create',
      'idempotency-key',
      '8:operator',
    ]
    const ids = new Map<string, string>()
    for (let n = 0; n < 5_000; n += 1) {
      const list = Array.from(
        { length: random.int(1, 4) },
        () => parts[random.int(0, parts.length - 1)]!,
      )
      const key = JSON.stringify(list)
      const id = await idFor('named', list)
      expect(ids.get(id) ?? key).toBe(key)
      ids.set(id, key)
    }
    expect(ids.size).toBeGreaterThan(1_000)
  })
})
