// One session's story under faults: what a careful client does (it retries with the same key) and what it was told.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { sleep } from './world.mjs'
import { taskOf } from './upstream.mjs'

/** From the last fault or restart. */
export const terminalWithinMs = 60_000
const retryEveryMs = 60
const pollEveryMs = 50
const askedWithinMs = 10_000
const rereadEveryMs = 300

/**
 * @param session The id it is to have.
 * @param evicts Whether it is evicted wherever the story says that it is at rest.
 * @param lastFaultMs When this session was last hit by a fault of its own.
 */
export function createTrial(world, { session, random, evicts = false, lastFaultMs = () => 0 }) {
  const accepted = []
  const steered = []
  const readers = []
  const effects = new Set()
  const problems = []
  let isDeleted = false
  let evictions = 0
  /** Calls that a client without an idempotency key sent and had no answer to. */
  let unanswered = 0
  /** Of the session's owner; the operator's while there is none. */
  let key
  const deadline = () => Math.max(lastFaultMs(), world.lastShakenMs()) + terminalWithinMs
  const isLate = (sinceMs) => Date.now() > Math.max(deadline(), sinceMs + terminalWithinMs)

  const problem = (kind, what) => void problems.push({ kind, what })

  const asOwner = (options = {}) =>
    key ? { ...options, headers: { authorization: `Bearer ${key}`, ...options.headers } } : options

  /** Asks as the session's owner until there is an answer that is not "try again". */
  const call = (path, options) => callAs(path, asOwner(options))
  const callAs = async (path, options = {}) => {
    const sinceMs = Date.now()
    for (;;) {
      const answer = await attempt(path, options)
      if (answer) return answer
      if (isLate(sinceMs)) throw new Error(`no answer to ${options.method ?? ''} ${path} in time`)
      await sleep(retryEveryMs)
    }
  }
  const attempt = async (path, options) => {
    try {
      const response = await world.request(path, options)
      const text = await response.text()
      if (response.status >= 500 || response.status === 429) return undefined
      const isJson = !options.isText && text !== ''
      return { status: response.status, body: isJson ? JSON.parse(text) : undefined }
    } catch {
      return undefined
    }
  }
  const accept = (submission) => {
    if (!accepted.some(({ run }) => run === submission.run)) accepted.push(submission)
  }
  const path = (more = '') => `/api/sessions/${session}${more}`

  const recordsOf = (run) => world.audit.of(session).filter((record) => record.run === run)
  const childrenOf = () =>
    world.audit
      .of(session)
      .flatMap(({ type, data }) => (type === 'agent_invoked' ? [data.session] : []))
  /** Pauses that were announced on the record. */
  const pausesIn = (owners) =>
    owners.flatMap((owner) =>
      world.audit
        .of(owner)
        .filter(({ type }) => type === 'run_parked')
        .flatMap(({ run, data }) => data.pauses.map((pause) => ({ ...pause, owner, run })))
        .filter(({ kind }) => kind !== 'session'),
    )
  /** What the decision was worth shows at the end. */
  const decide = async ({ owner, run, call: waiting }, decision) => {
    const { status, body } = await call(`/api/sessions/${owner}/runs/${run}/decisions`, {
      json: { call: waiting, ...decision },
    })
    // It may have expired while a fault kept us from saying it.
    if (status !== 200 && status !== 404 && status !== 409)
      problem('lost', `decision on ${waiting} answered ${status} ${body?.error?.message}`)
  }

  const trial = {
    session,
    random,
    accepted,
    steered,
    readers,
    problems,
    problem,
    call,
    path,
    world,
    task: taskOf,
    pause: sleep,
    /** One request of the session's owner, tried once. */
    request: (path, options) => world.request(path, asOwner(options)),
    /** Requests that only an operator may make. */
    asOperator: callAs,
    /** From now on a user of its own asks: its key is registered, looked up and may be revoked. */
    async signIn(more = {}) {
      const principal = principalOf(session)
      const json = { principal, role: 'user', ...more }
      const { status, body } = await callAs('/api/operator/keys', { json })
      if (status !== 201) return problem('lost', `a new key answered ${status}`)
      key = body.key
    },
    principal: principalOf(session),
    isDeleted: () => isDeleted,
    evictions: () => evictions,
    unanswered: () => unanswered,
    /** Address of an effect, counted under this session and name. */
    effect(mode, name, ms) {
      if (mode !== 'look') effects.add(name)
      return world.upstream.effects.url(mode, `${session}/${name}`, ms)
    },
    effects,
    /** Waits until the server was asked for an effect, or for so long. */
    async asked(name) {
      const sinceMs = Date.now()
      const isAsked = () => world.upstream.effects.of(`${session}/${name}`).length > 0
      while (!isAsked() && Date.now() < sinceMs + askedWithinMs) await sleep(pollEveryMs)
    },
    async create(agent) {
      const headers = { 'x-faults-session': session }
      const { status } = await call('/api/sessions', { json: agent ? { agent } : {}, headers })
      if (status !== 201) problem('lost', `create answered ${status}`)
    },
    /** @returns The run's id; from now on it may not be lost. */
    async submit(name, plan, options = {}) {
      const task = taskOf({ name, ...plan })
      const { status, body } = await call(path('/runs'), {
        json: { task, ...options },
        headers: { 'idempotency-key': name },
      })
      if (status !== 200 && status !== 202) {
        problem('lost', `submission ${name} answered ${status} ${JSON.stringify(body)}`)
        return undefined
      }
      const run = body.run ?? body.id
      accept({ name, run, task })
      return run
    },
    /** The same over `/v1`, read to its end, or for so long and then left. */
    async chat(name, plan, { leaveAfterMs } = {}) {
      const task = taskOf({ name, ...plan })
      const sinceMs = Date.now()
      for (;;) {
        const { run, isWhole } = await chatOnce(trial, { name, task, session, leaveAfterMs })
        if (run) accept({ name, run, task })
        if (isWhole) return run
        if (isLate(sinceMs)) throw new Error(`no answer to chat ${name} in time`)
        await sleep(retryEveryMs)
      }
    },
    async read(what) {
      const { status } = await call(path(what), { isText: true })
      if (status !== 200) problem('lost', `GET ${what} answered ${status}`)
    },
    async cancel(run) {
      const { status } = await call(path(`/runs/${run}/cancel`), { json: {} })
      if (status !== 200) problem('lost', `cancel of ${run} answered ${status}`)
    },
    async changeLimits(run, limits, { isOperator = false } = {}) {
      const ask = isOperator ? callAs : call
      const { status, body } = await ask(path(`/runs/${run}/limits`), { json: limits })
      // A fault may have kept us from asking before the run was over.
      if (status !== 200 && status !== 409)
        problem('lost', `new limits of ${run} answered ${status} ${body?.error?.message}`)
    },
    async change(fields) {
      const { status, body } = await call(path(), { json: fields })
      if (status !== 200)
        problem('lost', `a change of the session answered ${status} ${JSON.stringify(body)}`)
    },
    /** Takes the conversation back; a fault may have ended the handoff, or kept it from beginning. */
    async reclaim() {
      const { status } = await call(path('/reclaim'), { json: {} })
      if (status !== 200 && status !== 409) problem('lost', `reclaim answered ${status}`)
    },
    async subscribe(subscription) {
      const { status, body } = await call('/api/subscriptions', { json: subscription })
      if (status !== 201)
        problem('lost', `a subscription answered ${status} ${body?.error?.message}`)
    },
    /** What fills the window of the next call, and less of it: there may be nothing to compact. */
    async compact(request = {}) {
      await trial.read('/context')
      // A compaction takes no idempotency key: a repeat finds nothing to compact where the first was cut after its work.
      unanswered += 1
      const { status, body } = await call(path('/compact'), { json: request })
      if (status === 200) {
        unanswered -= 1
        accept({ name: 'compact', run: body.run })
      } else if (status !== 409)
        problem('lost', `compact answered ${status} ${body?.error?.message}`)
    },
    /** An MCP client of 2026-07-28, which answers each form it is asked; it has no key by which to ask again. */
    async callMcp(name, plan, options = {}) {
      const task = taskOf({ name, ...plan })
      const client = new Client(
        { name: 'faults', version: '1' },
        { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: {} } },
      )
      client.setRequestHandler('elicitation/create', async () => {
        return { action: 'accept', content: { answer: 'yes' } }
      })
      unanswered += 1
      try {
        const fetch = (url, init) => trial.request(new URL(url).pathname, { raw: init })
        await client.connect(
          new StreamableHTTPClientTransport(new URL('http://isola/mcp'), { fetch }),
        )
        const input = { task, session, ...options }
        const { structuredContent } = await client.callTool({
          name: 'orchestrator',
          arguments: input,
        })
        if (!structuredContent?.run) return
        unanswered -= 1
        accept({ name, run: structuredContent.run, task })
      } catch {
        // cut, or refused while a fault was dealt with
      } finally {
        await client.close().catch(() => {})
      }
    },
    /** A chat client that runs its own tools: the call goes out, its result comes with the next request. */
    async chatWithTools(name, plan, tools) {
      const task = taskOf({ name, ...plan })
      const asked = [{ role: 'user', content: task }]
      const first = await ask(name, asked)
      const said = first?.choices[0].message
      if (!said?.tool_calls) return
      const results = said.tool_calls.map(({ id }) => {
        return { role: 'tool', tool_call_id: id, content: 'blue' }
      })
      await ask(`${name} answered`, [...asked, said, ...results])

      async function ask(key, messages) {
        const sinceMs = Date.now()
        while (!isLate(sinceMs)) {
          const { status, run, body } = await chatWhole(trial, { key, messages, tools, session })
          if (run) accept({ name, run, task })
          if (status === 200) return body
          if (status >= 400 && status < 500 && status !== 429) return undefined
          await sleep(retryEveryMs)
        }
        throw new Error(`no answer to chat ${key} in time`)
      }
    },
    /** Another message for a run at work. @returns Whether it came in time. */
    async steer(run, name, text) {
      const { status, body } = await call(path(`/runs/${run}/messages`), {
        json: { message: text },
        headers: { 'idempotency-key': name },
      })
      if (status === 409) return false
      if (status !== 202) problem('lost', `message ${name} answered ${status} ${body?.error?.code}`)
      steered.push({ name, run, task: text })
      return true
    },
    /** Waits until the audit log says that a run is parked, or is over. */
    async parked(run) {
      const sinceMs = Date.now()
      const isAtRest = ({ type }) => type === 'run_parked' || type === 'run_finished'
      while (!recordsOf(run).some(isAtRest)) {
        if (isLate(sinceMs)) return problem('stuck', `run ${run} neither waits nor is over`)
        await sleep(pollEveryMs)
      }
    },
    /** Settles whatever a run or its children wait for, until it is over. */
    async settle(run, answerTo) {
      const decided = new Set()
      const sinceMs = Date.now()
      while (!recordsOf(run).some(({ type }) => type === 'run_finished')) {
        if (isLate(sinceMs)) return
        for (const pause of pausesIn([session, ...childrenOf()])) {
          const key = `${pause.owner} ${pause.call}`
          if (decided.has(key)) continue
          decided.add(key)
          await trial.idle()
          await decide(pause, answerTo(pause))
        }
        await sleep(pollEveryMs)
      }
    },
    /** An operator retries a run that was given up; any other run is left alone. */
    async retry(run, name) {
      const given = () =>
        world.audit
          .of(session)
          .some(({ type, data }) => type === 'run_finished' && data.code === 'run_given_up')
      if (!given()) return
      const { status, body } = await call(`/api/operator/runs/${run}/retry`, { json: {} })
      if (status !== 202) return problem('lost', `retry of ${run} answered ${status}`)
      accept({ name: `${name} again`, of: name, run: body.run })
    },
    async delete() {
      const { status } = await call(path(), { method: 'DELETE' })
      // The answer of a first attempt may have been lost after it was done.
      if (status !== 200 && status !== 404) problem('lost', `delete answered ${status}`)
      isDeleted = true
    },
    /** A chat call that names no session, asked once, and gone by itself some time later. */
    async chatOnceAndForget(name, plan) {
      await chatOnce(trial, { name, task: taskOf({ name, ...plan }), session, isStateless: true })
      const sinceMs = Date.now()
      while ((await call(path())).status !== 404) {
        if (isLate(sinceMs)) return problem('stuck', 'the session nobody named is still there')
        await sleep(rereadEveryMs)
      }
      isDeleted = true
    },
    /** Waits until the audit log says that a run is over: nothing wakes the run's own object. */
    async ended(run, owner = session) {
      const sinceMs = Date.now()
      for (;;) {
        const isOver = world.audit
          .of(owner)
          .some((record) => record.run === run && record.type === 'run_finished')
        if (isOver) return true
        if (isLate(sinceMs)) return false
        await sleep(pollEveryMs)
      }
    },
    follow: () => readers.push(followEvents(trial, path('/events'))),
    /** What the day's ledger does now and then with a run that has not settled. */
    askBack: (run) => world.control(`spent?session=${session}`, run),
    /** Another object does not answer for this session for a while. */
    refuse: (refusal) => world.control(`refuse?session=${session}`, refusal),
    /** A place in the story where nothing runs. */
    async idle() {
      if (!evicts) return
      const { evicted } = await world.control(`evict?session=${session}`, {})
      if (evicted) evictions += 1
    },
  }
  return trial
}

/** One answer in one piece. */
async function chatWhole(trial, { key, messages, tools, session }) {
  try {
    const response = await trial.request('/v1/chat/completions', {
      json: { model: 'orchestrator', messages, tools },
      headers: { 'x-isola-session': session, 'idempotency-key': key },
    })
    const run = response.headers.get('x-isola-run')
    return { status: response.status, run, body: await response.json() }
  } catch {
    return { status: 0 }
  }
}

const principalOf = (session) => `user.${session.toLowerCase()}`

/** @returns The run's id once it was acknowledged; `isWhole` if the stream ended as it should, or was left on purpose. */
async function chatOnce(trial, { name, task, session, leaveAfterMs, isStateless = false }) {
  const leaving = new AbortController()
  let timer
  let run
  try {
    const response = await trial.request('/v1/chat/completions', {
      json: { model: 'orchestrator', stream: true, messages: [{ role: 'user', content: task }] },
      // The harness names a session that the client does not.
      headers: isStateless
        ? { 'x-faults-session': session }
        : { 'x-isola-session': session, 'idempotency-key': name },
      signal: leaving.signal,
    })
    if (response.status === 200) run = response.headers.get('x-isola-run')
    if (run && leaveAfterMs) timer = setTimeout(() => leaving.abort(), leaveAfterMs)
    const text = await response.text()
    // A refusal is no answer: the run may be there, and the same key finds it.
    const isEnded = text.includes('data: [DONE]') || text.includes('"error"')
    return { run, isWhole: response.status === 200 && isEnded }
  } catch {
    return { run, isWhole: leaving.signal.aborted && run !== undefined }
  } finally {
    clearTimeout(timer)
  }
}

/** A reader that comes back with its cursor whenever its stream ends, until it is told to stop. */
function followEvents(trial, path) {
  const seen = []
  const faults = []
  const stopped = new AbortController()
  let last = 0

  const take = (event) => {
    if (event.type === 'message_delta') return
    if (event.seq !== last + 1) faults.push(`after ${last} came ${event.seq} (${event.type})`)
    last = event.seq
    seen.push({ seq: event.seq, type: event.type, run: event.run })
  }
  const readOnce = async () => {
    const headers = last > 0 ? { 'last-event-id': String(last) } : {}
    const response = await trial.request(path, { headers, signal: stopped.signal })
    if (response.status !== 200) return void (await response.body?.cancel())
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop()
      for (const block of blocks) {
        const line = block.split('\n').find((text) => text.startsWith('data: '))
        const event = line && JSON.parse(line.slice('data: '.length))
        if (event?.type) take(event)
      }
    }
  }
  const reading = (async () => {
    while (!stopped.signal.aborted) {
      await readOnce().catch(() => {}) // cut: it comes back with its cursor
      if (!stopped.signal.aborted) await sleep(retryEveryMs)
    }
  })()
  return {
    seen,
    faults,
    async stop() {
      stopped.abort()
      await reading
    },
  }
}
