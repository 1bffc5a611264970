// Runs one scenario with its faults armed, and judges it.
import { createRandom } from './random.mjs'
import { createTrial } from './trial.mjs'
import { judge, judgeUndisturbed } from './oracle.mjs'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A session id that a number repeats. */
export function sessionFor(number) {
  const random = createRandom(number)
  return `ses_${Array.from({ length: 22 }, () => digits[random.below(digits.length)]).join('')}`
}

/**
 * @param options.faults `{ role, point, position, hit, kind }` each, all armed from the start.
 * @returns `{ struck, problems, states, recorded }`.
 */
export async function runTrial(
  world,
  { scenario, number, faults = [], evicts = false, isRecorded = false },
) {
  const session = sessionFor(number)
  const armed = [...faults, ...(scenario.faults ?? [])].map((fault, index) => ({
    ...fault,
    tree: fault.role === 'any' ? '*' : session,
    id: `${number}-${index}`,
  }))
  const hits = () => armed.flatMap(({ id }) => (world.struck.has(id) ? [world.struck.get(id)] : []))
  const lastFaultMs = () => Math.max(0, ...hits().map(({ atMs }) => atMs))
  const trial = createTrial(world, { session, random: createRandom(number), evicts, lastFaultMs })
  if (isRecorded) await world.control(`record?session=${session}`, {})
  if (armed.length > 0) await world.arm(armed)
  try {
    await scenario.story(trial)
    await judge(trial)
    // While a trial is recorded no other trial strikes.
    if (isRecorded && faults.length === 0 && !scenario.isCutShort && !scenario.isSlow)
      judgeUndisturbed(trial, scenario)
  } catch (error) {
    trial.problem('stuck', `${error.stack ?? error}`)
    for (const reader of trial.readers) await reader.stop()
  }
  if (armed.length > 0) await world.disarm(armed.map(({ id }) => id))
  const recorded = isRecorded ? await world.control(`recorded?session=${session}`, {}) : {}
  const struck = armed.filter(({ id }) => world.struck.has(id))
  world.forget(session)
  return {
    session,
    scenario: scenario.name,
    struck,
    evictions: trial.evictions(),
    problems: trial.problems,
    states: trial.states ?? [],
    recorded,
  }
}
