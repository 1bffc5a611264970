// The deployment under test over all its lives: restarts it after an exit, resets it when a fault asks for it, and
// follows its audit log, which tells that a run is over without waking the run's own object.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate, operatorKey, startServer } from './server.mjs'
import { policyFor } from '../local-server.mjs'
import { startUpstream } from './upstream.mjs'

const auditEveryMs = 200
const auditPage = 100
const downtimeMs = 60_000

/** @param options.recoverEveryMs How soon a session wakes by itself after a fault. */
export async function startWorld({ text, product, recoverEveryMs = 500 }) {
  const stateDir = mkdtempSync(join(tmpdir(), 'isola-faults-'))
  const forgetState = () => rmSync(stateDir, { recursive: true, force: true })
  process.once('exit', forgetState)
  const upstream = await startUpstream()
  const arms = new Map()
  const trees = {}
  const struck = new Map()
  const audit = createAudit()
  let server
  let starting
  let isClosed = false
  let lives = 0
  let deaths = 0
  let lastShakenMs = 0

  const onLine = ([what, ...words]) => {
    if (what === 'tree') trees[words[0]] = words[1]
    if (what === 'struck') void onStruck(...words)
  }
  const onStruck = async (id, kind) => {
    struck.set(id, { kind, atMs: Date.now() })
    arms.delete(id)
    if (kind === 'reset') {
      shake()
      await control('reset', {}).catch(() => {})
    }
    if (kind === 'exit') await crash()
  }
  const shake = () => (lastShakenMs = Date.now())

  const start = () => {
    lives += 1
    return startServer({
      text,
      product,
      stateDir,
      upstream: upstream.modelUrl,
      collector: upstream.collectorUrl,
      onLine,
      // A death that no fault asked for. The new process has another address and does not know the armed faults.
      onDeath() {
        deaths += 1
        console.error(`the process died by itself: ${server.output.slice(-3).join(' | ')}`)
        if (!starting && !isClosed) void crash()
      },
      recoverEveryMs,
      memory: { arms: [...arms.values()], trees },
    })
  }
  /** SIGKILL, then a new process over the same data. */
  const crash = async () => {
    const { promise, resolve } = Promise.withResolvers()
    starting = promise
    await server.kill()
    server = await start()
    shake()
    starting = undefined
    resolve()
  }
  /** One request to the process that is up now. Rejects if the connection breaks. */
  const request = async (path, { json, headers, method, signal, raw } = {}) => {
    await starting
    if (raw) return fetch(`${server.url}${path}`, withKey(raw, headers))
    return fetch(`${server.url}${path}`, {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${operatorKey}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(signal && { signal }),
    })
  }
  const control = async (verb, json) => {
    const deadline = Date.now() + downtimeMs
    for (;;) {
      try {
        const response = await request(`/__faults/${verb}`, { json })
        if (response.ok) return await response.json()
        throw new Error(`/__faults/${verb}: ${response.status} ${await response.text()}`)
      } catch (error) {
        if (isClosed || Date.now() > deadline) throw error
        await sleep(20)
      }
    }
  }
  const followAudit = async () => {
    while (!isClosed) {
      try {
        const response = await request(
          `/api/operator/audit?limit=${auditPage}${audit.next() ? `&after=${audit.next()}` : ''}`,
        )
        const page = response.ok ? await response.json() : { records: [] }
        audit.take(page)
        if (page.records.length === auditPage) continue
      } catch {
        // it is down, or its database was reset: the next round asks again
      }
      await sleep(auditEveryMs)
    }
  }

  server = await start()
  await migrate(server, product)
  const health = await (await request('/api/operator/health')).json()
  if (health.status !== 'ok') throw new Error(`not well: ${JSON.stringify(health)}`)
  await request('/api/operator/policy', { json: policyFor(upstream.collectorUrl) })
  const following = followAudit()
  return {
    upstream,
    audit,
    struck,
    request,
    control,
    crash,
    lives: () => lives,
    deaths: () => deaths,
    lastShakenMs: () => lastShakenMs,
    output: () => server.output,
    async arm(faults) {
      for (const fault of faults) arms.set(fault.id, fault)
      await control('arm', faults)
    },
    forget(session) {
      audit.forget(session)
      upstream.effects.forget(session)
      for (const [child, root] of Object.entries(trees)) if (root === session) delete trees[child]
    },
    async disarm(ids) {
      for (const id of ids) arms.delete(id)
      await control('disarm', ids)
    },
    async close() {
      isClosed = true
      await starting
      await following
      await server.stop()
      await upstream.close()
      process.off('exit', forgetState)
      forgetState()
    },
  }
}

/** A request that a client library made, with the key of who asks. */
function withKey(init, { authorization = `Bearer ${operatorKey}` } = {}) {
  const headers = new Headers(init.headers)
  headers.set('authorization', authorization)
  return { ...init, headers }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The operator's audit log of each session. */
function createAudit() {
  const sessions = new Map()
  let next
  return {
    next: () => next,
    take(page) {
      next = page.next ?? next
      for (const record of page.records) {
        const records = sessions.get(record.session) ?? new Map()
        sessions.set(record.session, records)
        records.set(record.seq, record) // the last page is read again until it is full
      }
    },
    of: (session) => [...(sessions.get(session)?.values() ?? [])],
    forget: (session) => sessions.delete(session),
  }
}
