// One session's story under faults: what a careful client does (it retries with the same key) and what it was told.
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
  const deadline = () => Math.max(lastFaultMs(), world.lastShakenMs()) + terminalWithinMs
  const isLate = (sinceMs) => Date.now() > Math.max(deadline(), sinceMs + terminalWithinMs)

  const problem = (kind, what) => void problems.push({ kind, what })

  /** Asks until there is an answer that is not "try again". */
  const call = async (path, options = {}) => {
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
  /** What was announced to wait for somebody outside. */
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
      problem('lost', `decision on ${waiting} answered ${status} ${body?.error?.code}`)
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
    isDeleted: () => isDeleted,
    evictions: () => evictions,
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
        const { run, isWhole } = await chatOnce(world, { name, task, session, leaveAfterMs })
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
    /** Waits until the audit log says that a run waits for somebody, or is over. */
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
    /** What an operator does with a run that was given up; one that was not is left alone. */
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
      await chatOnce(world, { name, task: taskOf({ name, ...plan }), session, isStateless: true })
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
    follow: () => readers.push(followEvents(world, path('/events'))),
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

/** @returns The run's id once it was acknowledged; `isWhole` if the stream ended as it should, or was left on purpose. */
async function chatOnce(world, { name, task, session, leaveAfterMs, isStateless = false }) {
  const leaving = new AbortController()
  let timer
  let run
  try {
    const response = await world.request('/v1/chat/completions', {
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
function followEvents(world, path) {
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
    const response = await world.request(path, { headers, signal: stopped.signal })
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
