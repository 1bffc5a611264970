// Measures the cost and the time of each step, for each system.
import { replay, shuffled } from './load.mjs'
import { cpuMs } from './processes.mjs'
import { plain, random, seed, sleep, steps } from './plan.mjs'

const countsOf = async ({ url }) => (await fetch(`${url}/__bench/counts`)).json()

/** One session of a Worker with what each step cost: rows, model calls, bytes and tokens. */
export async function countSteps(model, server, session) {
  const costs = []
  for (const step of steps) {
    const before = { ...(await model.ask('counters')), ...(await countsOf(server)) }
    await server.client.run(session, step)
    await sleep(3_000) // the record leaves for the database, and whatever else follows the answer
    const after = { ...(await model.ask('counters')), ...(await countsOf(server)) }
    const spent = (name) => (after[name] ?? 0) - (before[name] ?? 0)
    const names = ['rows', 'd1Rows', 'alarms', 'statements', 'calls', 'bytes', 'promptTokens']
    costs.push({
      scenario: step.scenario,
      ...Object.fromEntries(names.map((name) => [name, spent(name)])),
    })
  }
  return costs
}

/** The writes of a plain run of a session at rest until it rests again: the recovery job comes after ten seconds. */
export async function countAtRest(server, session) {
  await server.client.run(session, plain)
  await sleep(12_000)
  const before = await countsOf(server)
  await server.client.run(session, plain)
  await sleep(12_000)
  const after = await countsOf(server)
  const names = ['rows', 'd1Rows', 'alarms', 'statements']
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]]))
}

/** Records the model requests of a floor at each step, so that the model alone can be timed with them. */
async function recordBodies({ model, bare }, session, plan) {
  const bodies = []
  for (const step of plan) {
    await model.ask('record')
    await bare.client.run(session, step)
    bodies.push((await model.ask('recorded')).map((body) => Buffer.from(JSON.stringify(body))))
  }
  return bodies
}

const systems = ['direct', 'bare', 'journal', 'isola']

/** Each step by each system in a new random order, so that whatever drifts hits all alike. */
export async function measure(all, plan, { name, rounds, isKept }) {
  const bodies = await recordBodies(all, `${name}-record`, plan)
  const times = {}
  for (let round = 0; round < rounds; round += 1) {
    const session = `${name}-${seed}-${round}`
    for (const [at, step] of plan.entries()) {
      for (const system of shuffled(systems, random)) {
        const { firstMs, totalMs } =
          system === 'direct'
            ? await replay(all.model.url, bodies[at])
            : await all[system].client.run(session, step)
        if (!isKept) continue
        times[step.scenario] ??= Object.fromEntries(systems.map((each) => [each, []]))
        times[step.scenario][system].push(step.stream ? firstMs : totalMs)
      }
    }
  }
  return times
}

/** CPU of the server's processes for plain runs in blocks, with the work that follows the answers inside. */
export async function measureCpu(all, blocks) {
  const perBlock = 40
  const used = { bare: [], journal: [], isola: [] }
  for (let block = 0; block <= blocks; block += 1) {
    for (const system of shuffled(Object.keys(used), random)) {
      const { client, pids } = all[system]
      const session = (at) => `cpu-${seed}-${block}-${at % 10}`
      for (let at = 0; at < 10; at += 1) await client.run(session(at), plain)
      await sleep(300)
      const before = cpuMs(pids)
      for (let at = 0; at < perBlock; at += 1) await client.run(session(at), plain)
      await sleep(300)
      if (block > 0) used[system].push((cpuMs(pids) - before) / perBlock)
    }
  }
  return used
}

/** Process start to first answer, over a database that has its tables. */
export async function measureStarts(all, count) {
  const times = { bare: [], isola: [] }
  for (const system of Object.keys(times)) await (await all[system].startAgain(false)).close()
  for (let round = 0; round < count; round += 1) {
    for (const system of shuffled(Object.keys(times), random)) {
      const startedMs = performance.now()
      const server = await all[system].startAgain(true)
      const response = await fetch(`${server.url}/healthz`)
      await response.text()
      times[system].push(performance.now() - startedMs)
      await server.close()
      if (!response.ok) throw new Error(`${system} answered ${response.status} after its start`)
    }
  }
  return times
}

/** Many sessions at once, each one run after another. */
export async function measureCrowd(all, { sessions, runs, passes }) {
  const crowd = ['bare', 'journal', 'isola']
  const results = Object.fromEntries(crowd.map((system) => [system, []]))
  // Pass 0 warms up: the first crowd meets cold connections and empty caches.
  for (let pass = 0; pass <= passes; pass += 1) {
    for (const system of shuffled(crowd, random)) {
      const times = []
      const startedMs = performance.now()
      const one = async (session) => {
        for (let at = 0; at < runs; at += 1)
          times.push((await all[system].client.run(session, plain)).totalMs)
      }
      await Promise.all(
        Array.from({ length: sessions }, (_, at) => one(`crowd-${seed}-${pass}-${at}`)),
      )
      const perSecond = (times.length * 1000) / (performance.now() - startedMs)
      if (pass > 0) results[system].push({ times, perSecond })
      await sleep(1_500) // deferred work (the audit log) must not count for the next scenario
    }
  }
  return results
}
