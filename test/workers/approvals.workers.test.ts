import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import {
  addPlugin,
  callsTool,
  changePlugin,
  enablePlugin,
  pluginBundle,
} from '../fakes/plugin-admin.ts'
import { at as atIssuer, issuer, signIn } from '../fakes/oauth-client.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

const patience = { timeout: 60_000, interval: 50 }
let upstream: ReturnType<typeof installUpstream> | undefined
const serve = (script: UpstreamScript) => {
  upstream?.restore()
  upstream = installUpstream(script)
}
/** A model that sets a key once for each task, and then says so. */
const setsOnce = (input: object = { key: 'launch', value: 'Friday' }) =>
  serve(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { text: String(messages.at(-1)?.content) }
      : { calls: [{ name: 'kv__set', input }] },
  )
const setPolicy = (policy: object) => callJson('/api/operator/policy', { json: { policy } })
/** The operator decides about these calls. */
const byOperator = { approvers: [{ tools: 'kv__*', approver: 'operator' }] }
beforeEach(() => setsOnce())
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

/** Shows a form in the middle of a call: one tool changes something, the other only reads. */
const former = {
  ...pluginBundle('former', '', {
    contributes: {
      tools: [
        { name: 'change', description: 'Changes.' },
        { name: 'read', description: 'Reads.', annotations: { readOnlyHint: true } },
      ],
    },
    grants: { request: ['elicit'] },
  }),
  code: `const sure = async (input, { request }) =>
    (await request.elicit({ key: 'sure', message: 'Sure?', schema: { type: 'object' } })).action
  export default () => ({ tools: { change: sure, read: sure } })`,
}

let count = 0
type Init = Parameters<typeof call>[1]
/** With a token, which is good at one address alone. */
const asking =
  (token: string) =>
  (path: string, { json, ...init }: NonNullable<Init> = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = json !== undefined && { method: 'POST', body: JSON.stringify(json) }
    return atIssuer(path, { ...init, headers, ...body })
  }
function speaking(ask: (path: string, init?: Init) => Promise<Response>) {
  return {
    ask,
    async askJson(path: string, init?: Init): Promise<Answer> {
      const response = await ask(path, init)
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text)
    },
  }
}
/** A new principal, and what speaks for it. */
async function somebody(role: string) {
  const principal = `asks-${role}-${(count += 1)}`
  const { key } = await callJson('/api/operator/keys', { json: { principal, role } })
  return { principal, key, ...speaking(asking(key)) }
}
type Somebody = Awaited<ReturnType<typeof somebody>>
const newSession = async ({ askJson }: Pick<Somebody, 'askJson'>): Promise<string> =>
  (await askJson('/api/sessions', { json: {} })).id
/** A run of a session as it stands when it is waited for. */
const runIn = (session: string, { askJson }: Pick<Somebody, 'askJson'>, more: object = {}) =>
  askJson(`/api/sessions/${session}/runs`, {
    json: { task: 'Set it.', requireApproval: ['kv__*'], wait: true, ...more },
  })
async function parked(who: Pick<Somebody, 'askJson'>, more: object = {}) {
  const session = await newSession(who)
  const { id: run, pauses } = await runIn(session, who, more)
  return { session, run, pause: pauses[0], path: `/api/sessions/${session}/runs/${run}` }
}
const approve = ({ pause }: Answer, more: object = {}) => ({
  json: { call: pause.call, decision: 'approve', argsHash: pause.argsHash, ...more },
})
const errorOf = async (response: Response): Promise<Answer> => {
  const { error } = (await response.json()) as Answer
  return { status: response.status, code: error.code, message: error.message }
}
const stateOf = async ({ askJson }: Pick<Somebody, 'askJson'>, path: string) =>
  (await askJson(path)).state
const completed = (who: Pick<Somebody, 'askJson'>, path: string) =>
  vi.waitFor(async () => expect(await stateOf(who, path)).toBe('completed'), patience)
/** The entry of a call, once the record has it so. */
const listed = (session: string, state: string): Promise<Answer> =>
  vi.waitFor(async () => {
    const query = `?session=${session}&state=${state}`
    const { approvals } = await callJson(`/api/operator/approvals${query}`)
    expect(approvals).toHaveLength(1)
    return approvals[0]
  }, patience)

describe('a call that the policy gives to an operator', () => {
  it('E6, I8, I26: waits for one, however often its owner, an author or another user says yes', async () => {
    await setPolicy(byOperator)
    const [ann, bob, eve] = [
      await somebody('user'),
      await somebody('author'),
      await somebody('user'),
    ]
    for (const owner of [ann, bob]) {
      const at = await parked(owner)
      const decide = `${at.path}/decisions`
      expect(await errorOf(await owner.ask(decide, approve(at)))).toMatchObject({
        status: 403,
        code: 'forbidden',
        message: expect.stringContaining('an operator'),
      })
      expect((await eve.ask(decide, approve(at))).status).toBe(404)
      const { id } = at.pause.approval
      expect((await owner.ask(`/api/operator/approvals/${id}`)).status).toBeGreaterThan(400)
      expect(await stateOf(owner, at.path)).toBe('parked')
      // Only the operator's yes counts: then the call goes on.
      expect((await call(decide, approve(at))).status).toBe(200)
      await completed(owner, at.path)
    }
  })

  it('I26: waits for one with every scope that a token can have, and is not approved by an operator’s token without `approve`', async () => {
    await setPolicy(byOperator)
    const ann = await somebody('user')
    const resource = (scope: string) => ({ scope, resource: `${issuer}/api` })
    for (const scope of ['agents', 'agents approve']) {
      const { access_token: token } = await signIn(ann.key, resource(scope))
      const client = speaking(asking(token))
      const at = await parked(client)
      expect(await errorOf(await client.ask(`${at.path}/decisions`, approve(at)))).toMatchObject({
        status: 403,
      })
      expect(await stateOf(client, at.path)).toBe('parked')
    }
    const ops = await somebody('operator')
    const at = await parked(ann)
    await listed(at.session, 'open')
    for (const [scope, status] of [
      ['agents', 403],
      ['agents operator', 403],
      ['agents operator approve', 200],
    ] as const) {
      const { access_token: token } = await signIn(ops.key, resource(scope))
      const client = speaking(asking(token))
      const answer = await client.ask(`/api/operator/approvals/${at.pause.approval.id}`, {
        json: { decision: 'approve' },
      })
      expect([scope, answer.status]).toEqual([scope, status])
    }
  })

  it('I26: of its owner’s own is approved by no token without `approve`, which may deny', async () => {
    const ann = await somebody('user')
    for (const [scope, status] of [
      ['agents', 403],
      ['agents approve', 200],
    ] as const) {
      const resource = `${issuer}/api`
      const { access_token: token } = await signIn(ann.key, { scope, resource })
      const client = speaking(asking(token))
      const [yes, no] = [await parked(client), await parked(client)]
      const approved = await client.ask(`${yes.path}/decisions`, approve(yes))
      expect([scope, approved.status]).toEqual([scope, status])
      expect((approved.headers.get('www-authenticate') ?? '').includes('approve')).toBe(
        status === 403,
      )
      const json = { call: no.pause.call, decision: 'deny' }
      expect((await client.ask(`${no.path}/decisions`, { json })).status).toBe(200)
    }
  })

  it('I26: is the form of a tool that changes something, which no token accepts without `approve`; that of one that only reads it does', async () => {
    await addPlugin(former)
    await enablePlugin('former')
    const ann = await somebody('user')
    for (const [scope, tool, status] of [
      ['agents', 'change', 403],
      ['agents', 'read', 200],
      ['agents approve', 'change', 200],
    ] as const) {
      serve(({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? { text: String(messages.at(-1)?.content) }
          : { calls: [{ name: 'isola__call', input: { name: `former__${tool}`, input: {} } }] },
      )
      const { access_token: token } = await signIn(ann.key, { scope, resource: `${issuer}/api` })
      const client = speaking(asking(token))
      const at = await parked(client, { requireApproval: [] })
      const { call: id, asksHash } = at.pause
      const say = (to: Pick<Somebody, 'ask'>, action: string) => {
        const output = { sure: { action, ...(action === 'accept' && { content: {} }) } }
        const json = { call: id, decision: 'result', output, asksHash }
        return to.ask(`${at.path}/decisions`, { json })
      }
      const answer = await say(client, 'accept')
      expect([scope, tool, answer.status]).toEqual([scope, tool, status])
      const challenge = answer.headers.get('www-authenticate') ?? ''
      expect(challenge.includes('approve')).toBe(status === 403)
      if (status === 403) {
        expect(await stateOf(client, at.path)).toBe('parked')
        expect((await say(client, 'decline')).status).toBe(200)
      }
      await completed(client, at.path)
    }
  })

  it('I8, I26: is a limit, too, which no token raises without `approve`', async () => {
    const ann = await somebody('user')
    for (const [scope, status] of [
      ['agents', 403],
      ['agents approve', 200],
    ] as const) {
      const { access_token: token } = await signIn(ann.key, { scope, resource: `${issuer}/api` })
      const client = speaking(asking(token))
      const session = await newSession(client)
      const more = { requireApproval: [], limits: { maxTurns: 1 } }
      const { id, state } = await runIn(session, client, more)
      expect(state).toBe('parked')
      const path = `/api/sessions/${session}/runs/${id}/limits`
      const raised = await client.ask(path, { json: { maxTurns: 9 } })
      expect([scope, raised.status]).toEqual([scope, status])
    }
  })
})

describe('an approval that does nothing', () => {
  it('E6, T21: is replayed, late, altered by one byte or of another session, and says why', async () => {
    const ann = await somebody('user')
    const [at, other] = [await parked(ann), await parked(ann)]
    const hash: string = at.pause.argsHash
    const altered = hash.slice(0, -1) + (hash.endsWith('0') ? '1' : '0')
    const decide = async (json: object, path = at.path) =>
      errorOf(await ann.ask(`${path}/decisions`, { json }))
    const yes = { call: at.pause.call, decision: 'approve' }
    expect(await decide({ ...yes, argsHash: altered })).toMatchObject({
      status: 409,
      message: expect.stringContaining('not those that were shown'),
    })
    const elsewhere = other.path.replace(/run_.*/, at.run)
    expect(await decide({ ...yes, argsHash: hash }, elsewhere)).toMatchObject({ status: 404 })
    // The arguments are the same there, and their approval holds for this call only.
    expect(other.pause.argsHash).toBe(hash)
    expect((await ann.ask(`${at.path}/decisions`, approve(at))).status).toBe(200)
    await completed(ann, at.path)
    // The same again is no news, and nothing runs; another word comes too late.
    expect((await ann.ask(`${at.path}/decisions`, approve(at))).status).toBe(200)
    expect(await decide({ call: at.pause.call, decision: 'deny' })).toMatchObject({
      status: 409,
      message: expect.stringContaining(
        `decided already, and otherwise: by ${ann.principal} (user)`,
      ),
    })
    const { result } = await ann.askJson(at.path)
    expect(result.actions).toHaveLength(1)
    expect(await stateOf(ann, other.path)).toBe('parked')
    await ann.ask(`${other.path}/cancel`, { json: {} })
    expect(await decide(yes, other.path)).toMatchObject({ status: 409 })
    const ops = await somebody('operator')
    const { id } = await listed(at.session, 'approved')
    const again = await ops.ask(`/api/operator/approvals/${id}`, { json: { decision: 'approve' } })
    expect(await errorOf(again)).toMatchObject({
      status: 409,
      message: expect.stringContaining(`by ${ann.principal} (user) at 20`),
    })
  })
})

describe('an approval over the inbox that does nothing', () => {
  const hexAt = (hash: string, at: number) =>
    hash.slice(0, at) + (hash[at] === '0' ? '1' : '0') + hash.slice(at + 1)

  it('E6, T21: is altered by one byte wherever, of another call, replayed, or late, and says why', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const at = await parked(ann)
    setsOnce({ key: 'launch', value: 'Fridaz' })
    const other = await parked(ann)
    const [entry, others] = [await listed(at.session, 'open'), await listed(other.session, 'open')]
    const decide = (id: string, json: object) =>
      ops.ask(`/api/operator/approvals/${id}`, { json: { decision: 'approve', ...json } })
    const refusal = async (id: string, json: object) => errorOf(await decide(id, json))
    const shown = { status: 409, message: expect.stringContaining('not those that were shown') }
    // One letter of the arguments is another hash, and one letter of the hash none of this call.
    expect(others.argsHash).not.toBe(entry.argsHash)
    const altered = [0, 31, 63].map((place) => hexAt(entry.argsHash, place))
    for (const argsHash of [...altered, others.argsHash, entry.argsHash.toUpperCase()])
      expect(await refusal(entry.id, { argsHash })).toMatchObject(shown)
    const unknown = { status: 404, message: expect.stringContaining('no such approval') }
    const elsewhere = `apr_${hexAt(entry.id.slice(4), 3)}`
    expect(await refusal(elsewhere, { argsHash: entry.argsHash })).toMatchObject(unknown)
    expect(await refusal('apr_', {})).toMatchObject(unknown)
    expect(await stateOf(ann, at.path)).toBe('parked')
    // The same decision again by the same principal changes nothing: the call was made once.
    for (let times = 0; times < 3; times += 1)
      expect((await decide(entry.id, { argsHash: entry.argsHash })).status).toBe(200)
    await completed(ann, at.path)
    expect((await decide(entry.id, { argsHash: entry.argsHash })).status).toBe(200)
    expect((await ann.askJson(at.path)).result.actions).toHaveLength(1)
    const more = await refusal(entry.id, { argsHash: entry.argsHash, also: 'always' })
    expect(more).toMatchObject({
      status: 409,
      message: expect.stringContaining(`decided already, and otherwise: by ${ops.principal}`),
    })
    expect((await ops.askJson('/api/approval-rules')).rules).toEqual([])
    await ann.askJson(`${other.path}/cancel`, { json: {} })
    expect(await refusal(others.id, { argsHash: others.argsHash })).toMatchObject({
      status: 409,
      message: expect.stringContaining('over'),
    })
    expect((await ann.askJson(other.path)).state).toBe('cancelled')
  })
})

describe('the inbox', () => {
  it('E6, C7: lists what waits in all sessions, shows what is asked, and is decided from there', async () => {
    await setPolicy(byOperator)
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const at = await parked(ann)
    const entry = await listed(at.session, 'open')
    expect(entry).toMatchObject({
      id: at.pause.approval.id,
      principal: ann.principal,
      agent: 'orchestrator',
      run: at.run,
      tool: 'kv__set',
      approver: 'operator',
      reason: 'run',
      argsHash: at.pause.argsHash,
      label: { integrity: 'user' },
    })
    const shown = await ops.askJson(`/api/operator/approvals/${entry.id}`)
    expect(shown.pause).toMatchObject({
      input: { key: 'launch', value: 'Friday' },
      spent: { tokens: expect.any(Number) },
      approval: { asker: { principal: ann.principal, session: at.session, run: at.run } },
    })
    const json = { decision: 'deny', message: 'Not on a Friday.' }
    await ops.askJson(`/api/operator/approvals/${entry.id}`, { json })
    const { decidedBy } = await listed(at.session, 'denied')
    expect(decidedBy).toEqual({ principal: ops.principal, role: 'operator', via: 'inbox' })
    await completed(ann, at.path)
    expect((await ann.askJson(at.path)).result.result).toContain('Not on a Friday.')
    await vi.waitFor(async () => {
      const query = `session=${at.session}&type=pause_answered`
      const { records } = await callJson(`/api/operator/audit?${query}`)
      expect(records).toMatchObject([{ data: { answer: 'tool_denied', decidedBy } }])
    }, patience)
    expect((await ops.askJson(`/api/operator/approvals/${entry.id}`)).pause).toBeNull()
  })

  it('is set right by the record after a crash between a decision and its mirror, and drops what ended', async () => {
    const ann = await somebody('user')
    const [decided, ended] = [await parked(ann), await parked(ann)]
    await listed(decided.session, 'open')
    await listed(ended.session, 'open')
    await ann.askJson(`${decided.path}/decisions`, approve(decided))
    await abortAllDurableObjects()
    await completed(ann, decided.path)
    await ann.askJson(`${ended.path}/cancel`, { json: {} })
    expect(await listed(decided.session, 'approved')).toMatchObject({
      decidedBy: { principal: ann.principal, role: 'user', via: 'session' },
    })
    await listed(ended.session, 'ended')
  })

  it('takes one decision for calls of one shape, and refuses those that are not alike', async () => {
    const [ann, bob, ops] = [
      await somebody('user'),
      await somebody('user'),
      await somebody('operator'),
    ]
    const first = await parked(ann)
    setsOnce({ key: 'other', value: 'Monday' })
    const second = await parked(bob)
    setsOnce({ key: 'number', value: 3 })
    const third = await parked(bob)
    const all = await Promise.all(
      [first, second, third].map(async ({ session }) => {
        const { id, argsHash } = await listed(session, 'open')
        return { id, argsHash }
      }),
    )
    const decide = (json: object) => ops.ask('/api/operator/approvals', { json })
    expect((await decide({ approvals: all, decision: 'approve' })).status).toBe(409)
    expect(await stateOf(ann, first.path)).toBe('parked')
    const unbound = all.map(({ id }) => ({ id }))
    expect((await decide({ approvals: unbound, decision: 'approve' })).status).toBe(400)
    const approvals = all.slice(0, 2)
    const answer = await decide({ approvals, decision: 'approve' })
    expect(((await answer.json()) as Answer).decided).toEqual(
      approvals.map(({ id }) => ({ id, ok: true })),
    )
    await completed(ann, first.path)
    await completed(bob, second.path)
    expect(await stateOf(bob, third.path)).toBe('parked')
    const no = await decide({ approvals: unbound.slice(2), decision: 'deny' })
    expect(((await no.json()) as Answer).decided).toMatchObject([{ ok: true }])
    await completed(bob, third.path)
  })

  it('E6, T21: binds each call of a batch to its own hash: what changed, is gone or was decided is refused by itself', async () => {
    const [ann, ops] = [await somebody('user'), await somebody('operator')]
    const [good, altered, decided, late] = [
      await parked(ann),
      await parked(ann),
      await parked(ann),
      await parked(ann),
    ]
    const named = await Promise.all(
      [good, altered, decided, late].map(async ({ session }) => {
        const { id, argsHash } = await listed(session, 'open')
        return { id, argsHash }
      }),
    )
    const other = named[1]!.argsHash.replace(/.$/, (last: string) => (last === '0' ? '1' : '0'))
    await ann.askJson(`${decided.path}/decisions`, approve(decided))
    await ann.askJson(`${late.path}/cancel`, { json: {} })
    const nowhere = `apr_${'0'.repeat(22)}`
    const approvals = [
      named[0],
      { ...named[1], argsHash: other },
      named[2],
      named[3],
      { id: nowhere, argsHash: other },
    ]
    const json = { approvals, decision: 'approve' }
    const answer = await ops.askJson('/api/operator/approvals', { json })
    const says = (text: string) => ({
      ok: false,
      code: 'conflict',
      message: expect.stringContaining(text),
    })
    expect(answer.decided).toMatchObject([
      { id: named[0]!.id, ok: true },
      { id: named[1]!.id, ...says('not those that were shown') },
      { id: named[2]!.id, ...says(`by ${ann.principal} (user)`) },
      { id: named[3]!.id, ...says('over') },
      { id: nowhere, ok: false, code: 'not_found' },
    ])
    await completed(ann, good.path)
    expect(await stateOf(ann, altered.path)).toBe('parked')
    // A no to other arguments than those that were shown is none either.
    const no = { approvals: [{ ...named[1], argsHash: other }], decision: 'deny' }
    const denied = await ops.askJson('/api/operator/approvals', { json: no })
    expect(denied.decided).toMatchObject([says('not those that were shown')])
    expect(await stateOf(ann, altered.path)).toBe('parked')
  })

  it('P21: shows an author what waits for an author, who decides that and nothing else', async () => {
    await setPolicy({ approvers: [{ tools: 'kv__set', approver: 'author' }] })
    const [ann, bob] = [await somebody('user'), await somebody('author')]
    const at = await parked(ann)
    await setPolicy({})
    const owners = await parked(ann)
    await listed(at.session, 'open')
    await listed(owners.session, 'open')
    expect((await ann.ask(`${at.path}/decisions`, approve(at))).status).toBe(403)
    const { approvals } = await bob.askJson('/api/operator/approvals')
    expect(approvals.map(({ session }: Answer) => session)).toEqual([at.session])
    const decide = ({ pause }: Answer) =>
      bob.ask(`/api/operator/approvals/${pause.approval.id}`, { json: { decision: 'approve' } })
    expect((await decide(owners)).status).toBe(404)
    expect((await decide(at)).status).toBe(200)
    await completed(ann, at.path)
  })
})

describe('a rule of an approval', () => {
  const rulesOf = async (who: Somebody) => (await who.askJson('/api/approval-rules')).rules

  it('E6, T11: lets the same arguments run in this session behind no worse label, not others, and not elsewhere', async () => {
    const ann = await somebody('user')
    const first = await parked(ann)
    await ann.askJson(`${first.path}/decisions`, approve(first, { also: 'session' }))
    await completed(ann, first.path)
    // By now it has read what the tool said, which is worse than what had been said when it was allowed.
    const { id, pauses } = await runIn(first.session, ann)
    const path = `/api/sessions/${first.session}/runs/${id}`
    const at = { session: first.session, pause: pauses[0] }
    await ann.askJson(`${path}/decisions`, approve(at, { also: 'session' }))
    await completed(ann, path)
    expect(await runIn(at.session, ann)).toMatchObject({ state: 'completed' })
    expect(await runIn(await newSession(ann), ann)).toMatchObject({ state: 'parked' })
    setsOnce({ key: 'launch', value: 'Monday' })
    expect(await runIn(at.session, ann)).toMatchObject({ state: 'parked' })
    const [rule] = await rulesOf(ann)
    expect(rule.label.integrity).toBe('tool')
    expect(rule).toMatchObject({ session: at.session, tool: 'kv__set', free: {} })
    await vi.waitFor(async () => {
      const query = `session=${at.session}&type=approval_held`
      const { records } = await callJson(`/api/operator/audit?${query}`)
      expect(records).toMatchObject([{ data: { rule: rule.id } }])
    }, patience)
    expect((await ann.ask(`/api/sessions/${at.session}`, { method: 'DELETE' })).status).toBe(200)
    expect(await rulesOf(ann)).toEqual([])
  })

  it('E6: holds in every session for what was freed, until it is revoked or an operator’s yes is wanted', async () => {
    const [ann, eve] = [await somebody('user'), await somebody('user')]
    const at = await parked(ann)
    const unknown = await ann.ask(
      `${at.path}/decisions`,
      approve(at, { also: 'always', free: ['x'] }),
    )
    expect(await errorOf(unknown)).toMatchObject({ status: 400 })
    await ann.askJson(
      `${at.path}/decisions`,
      approve(at, { also: 'always', free: ['value'], days: 2 }),
    )
    await completed(ann, at.path)
    setsOnce({ key: 'launch', value: 'Monday' })
    const stateIn = async (who: Somebody) => (await runIn(await newSession(who), who)).state
    expect([await stateIn(ann), await stateIn(eve)]).toEqual(['completed', 'parked'])
    setsOnce({ key: 'launch', value: 3 })
    expect(await stateIn(ann)).toBe('parked')
    setsOnce({ key: 'other', value: 'Monday' })
    expect(await stateIn(ann)).toBe('parked')
    setsOnce()
    await setPolicy(byOperator)
    expect(await stateIn(ann)).toBe('parked')
    await setPolicy({})
    expect(await stateIn(ann)).toBe('completed')
    const [{ id, expiresAtMs, createdAtMs }] = await rulesOf(ann)
    expect(expiresAtMs - createdAtMs).toBe(2 * 86_400_000)
    const path = `/api/approval-rules/${id}`
    expect((await eve.ask(path, { method: 'DELETE' })).status).toBe(404)
    expect((await ann.ask(path, { method: 'DELETE' })).status).toBe(200)
    expect(await stateIn(ann)).toBe('parked')
    expect(await rulesOf(ann)).toEqual([])
    // The approval that made it, said once more, makes it no more.
    const replayed = approve(at, { also: 'always', free: ['value'], days: 2 })
    expect((await ann.ask(`${at.path}/decisions`, replayed)).status).toBe(200)
    expect(await rulesOf(ann)).toEqual([])
    expect(await stateIn(ann)).toBe('parked')
    // It is gone once: the second time there is none, and nothing more is told.
    expect((await ann.ask(path, { method: 'DELETE' })).status).toBe(404)
    await vi.waitFor(async () => {
      const typed = (type: string, more = '') =>
        callJson(`/api/operator/audit?principal=${ann.principal}&type=${type}${more}`)
      const reach = { scope: 'rule', rule: id }
      const answered = await typed('pause_answered', `&session=${at.session}`)
      expect(answered.records).toMatchObject([{ data: { answer: 'approved', ...reach } }])
      const held = await typed('approval_held')
      expect(held.records).toMatchObject([{ data: reach }, { data: reach }])
      const revoked = await typed('approval_rule_revoked')
      expect(revoked.records).toMatchObject([
        { data: { ...reach, owner: ann.principal, tool: 'kv__set', agent: 'orchestrator' } },
      ])
    }, patience)
  })

  it('E6, T14: holds for one version of its tool: a changed one asks again and says so, the old one does not', async () => {
    const ann = await somebody('user')
    serve(callsTool('changing__say'))
    await addPlugin(pluginBundle('changing', 'one'))
    await enablePlugin('changing')
    const more = { requireApproval: ['changing__*'] }
    const run = async () => runIn(await newSession(ann), ann, more)
    const at = await parked(ann, more)
    expect(at.pause.approval).not.toHaveProperty('outdatedRule')
    await ann.askJson(`${at.path}/decisions`, approve(at, { also: 'always' }))
    await completed(ann, at.path)
    expect(await run()).toMatchObject({ state: 'completed' })
    const next = pluginBundle('changing', 'two', { version: '1.1.0' })
    expect((await addPlugin(next)).plugin).toMatchObject({ state: 'enabled', version: '1.1.0' })
    const [rule] = await rulesOf(ann)
    const asks = await run()
    expect(asks).toMatchObject({
      state: 'parked',
      pauses: [{ kind: 'approval', approval: { outdatedRule: rule.id } }],
    })
    expect(asks.pauses[0].definitionHash).not.toBe(at.pause.definitionHash)
    await changePlugin('changing', 'rollback')
    expect(await run()).toMatchObject({ state: 'completed' })
  })
})
