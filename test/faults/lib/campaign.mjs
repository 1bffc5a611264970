// Which faults to inject, and injecting them: first it records where each scenario passes, then it strikes there.
import { createRandom } from './random.mjs'
import { runTrial } from './run-trial.mjs'
import { scenarioNamed } from '../scenarios/index.mjs'

/** Trials side by side. What a reset or an exit hits is everything in flight, and a run is given up after five wakes. */
const concurrency = { record: 16, abort: 20, reset: 3, exit: 6 }
/** Faults a scenario gets while what happens after a fault is recorded. */
const primersPerScenario = 8
const maxHit = 12
/** Runs while a stray failpoint is armed: one outside of all sessions' objects. */
const strayScenario = 'children'
/** Of all faults; the rest are aborts. Exits cost a restart each. */
const shares = { reset: 0.25, exit: 0.15, evict: 0.02 }
/** A point that a run passes may be missed when timing differs; after this many tries a plan is given up. */
const triesPerFault = 3
const kindNames = ['abort', 'reset', 'exit']
const primeStep = 7_919

export function createCampaign(
  world,
  { scenarios, seed, only = '', primers = primersPerScenario, onTrial = () => {} },
) {
  const random = createRandom(seed)
  let number = seed * 1_000_000
  /** `point position` → where it can be struck: `{ scenario, role, count, primer }`. */
  const places = new Map()
  const results = []

  const trial = async (options) => {
    number += 1
    const result = await runTrial(world, { number, ...options })
    results.push({ ...result, faults: options.faults ?? [] })
    onTrial(result)
    return result
  }

  const learn = (scenario, recorded, primer = []) => {
    for (const [key, count] of Object.entries(recorded)) {
      const [role, ...place] = key.split(' ')
      const found = places.get(place.join(' ')) ?? []
      places.set(place.join(' '), found)
      const isKnown = found.some((other) => other.scenario === scenario && other.role === role)
      if (!isKnown) found.push({ scenario, role, count, primer })
    }
  }

  /** Where each scenario passes, undisturbed and then after a fault somewhere in it. */
  const recordAll = async () => {
    // The slow ones wait most of their time: they begin first.
    const slowFirst = scenarios.toSorted((a, b) => Number(!!b.isSlow) - Number(!!a.isSlow))
    await inPool(concurrency.record, slowFirst, async (scenario) => {
      const { recorded } = await trial({ scenario, isRecorded: true, evicts: false })
      learn(scenario.name, recorded)
    })
    const primed = scenarios.flatMap((scenario) =>
      random
        .shuffled(placesOf(scenario.name))
        .slice(0, scenario.isSlow ? Math.min(1, primers) : primers)
        .map((place) => ({ scenario, faults: [toFault(place, 'abort')] })),
    )
    await inPool(concurrency.record, primed, async ({ scenario, faults }) => {
      const { recorded } = await trial({ scenario, faults, isRecorded: true })
      learn(scenario.name, recorded, faults)
    })
    await learnStrays()
  }

  /**
   * Learns the awaits outside of any session's object (in a request, in the principal's object). Their fault hits the
   * first that comes.
   */
  const learnStrays = async () => {
    const { passed } = await world.control('passed')
    for (const [place, count] of Object.entries(passed)) {
      if (!places.has(place))
        places.set(place, [
          { scenario: strayScenario, role: 'any', count: 1 + (count > 3), primer: [] },
        ])
    }
  }

  const placesOf = (scenario) =>
    [...places].flatMap(([place, found]) =>
      found.filter((other) => other.scenario === scenario).map((where) => ({ place, ...where })),
    )

  const toFault = ({ place, role, count }, kind, chance = random) => {
    const [point, position] = place.split(' ')
    return { role, point, position, hit: 1 + chance.below(Math.min(count, maxHit)), kind }
  }

  const isQuick = ({ scenario }) => !scenarioNamed(scenario).isSlow

  const placesWhere = (isMeant) =>
    [...places]
      .filter(([place, found]) => place.includes(only) && found.some(isMeant))
      .map(([place]) => place)
      .toSorted(byName)

  /** Endless: every place in turn, in another order each round. Each kind has its own chance: they run side by side. */
  function* plan(kind) {
    const chance = createRandom(seed + kindNames.indexOf(kind) * primeStep)
    const chosen = placesWhere(isQuick)
    for (;;) {
      for (const place of chance.shuffled(chosen)) {
        const found = places.get(place).filter(isQuick).toSorted(byScenario)
        const common = found.filter(({ scenario }) => !scenarioNamed(scenario).isRare)
        const where = chance.pick(common.length > 0 ? common : found)
        if (where.role === 'any' && kind === 'abort') continue // there may be no object to abort
        const scenario = scenarioNamed(where.scenario)
        yield { scenario, faults: [...where.primer, toFault({ place, ...where }, kind, chance)] }
      }
    }
  }

  const strike = async (kind, wanted, width) => {
    if (wanted === 0 || placesWhere(isQuick).length === 0) return
    const planned = plan(kind)
    let done = 0
    let tries = 0
    await inPool(Math.min(width, Math.ceil(wanted / 3)), untilDone(), async (options) => {
      const { struck } = await trial(options)
      done += struck.length
    })
    function* untilDone() {
      while (done < wanted && tries < wanted * triesPerFault + width) {
        tries += 1
        yield planned.next().value
      }
    }
  }

  /** What only slow scenarios pass, while nothing else happens: a reset of everything would cut them short. */
  const strikeSlowly = async (kinds) => {
    const slow = placesWhere(() => true).filter((place) => !places.get(place).some(isQuick))
    const trials = kinds
      .filter((kind) => kind !== 'evict')
      .flatMap((kind) =>
        slow.map((place) => {
          const [where] = places.get(place).toSorted(byScenario)
          const scenario = scenarioNamed(where.scenario)
          return { scenario, faults: [...where.primer, toFault({ place, ...where }, kind)], kind }
        }),
      )
    const isExit = ({ kind }) => kind === 'exit'
    const others = trials.filter((planned) => !isExit(planned))
    await inPool(Math.max(1, others.length), others, trial)
    await inPool(1, trials.filter(isExit), trial)
  }

  const evict = async (wanted) => {
    const resting = scenarios.filter(({ rests }) => rests)
    let done = 0
    await inPool(concurrency.abort, untilDone(), async (scenario) => {
      done += (await trial({ scenario, evicts: true })).evictions
    })
    function* untilDone() {
      for (let tries = 0; done < wanted && tries < wanted * triesPerFault; tries += 1)
        yield random.pick(resting)
    }
  }

  /** Side by side what does not stop the process, then the exits. */
  const strikeAll = async (total, kinds) => {
    if (placesWhere(() => true).length === 0)
      throw new Error(`no failpoint that was reached contains "${only}"`)
    const counts = divide(total, kinds)
    await Promise.all([
      strike('abort', counts.abort, concurrency.abort),
      strike('reset', counts.reset, concurrency.reset),
      evict(counts.evict),
    ])
    await strike('exit', counts.exit, concurrency.exit)
    await strikeSlowly(kinds)
  }

  return { recordAll, strikeAll, trial, results, places: () => places }
}

const byName = (a, b) => a.localeCompare(b)

const byScenario = (a, b) => `${a.scenario} ${a.role}`.localeCompare(`${b.scenario} ${b.role}`)

/** How many of each kind; what a kind that was not asked for would get goes to the first that was. */
function divide(total, kinds) {
  const counts = { abort: 0, reset: 0, exit: 0, evict: 0 }
  for (const kind of ['reset', 'exit', 'evict']) {
    if (kinds.includes(kind)) counts[kind] = Math.ceil(total * shares[kind])
  }
  const rest = total - counts.reset - counts.exit - counts.evict
  counts[kinds[0]] += Math.max(0, rest)
  return counts
}

/** Works through what a list or a generator yields, so many at a time. */
async function inPool(width, source, work) {
  const items = source[Symbol.iterator]()
  const worker = async () => {
    for (let item = items.next(); !item.done; item = items.next()) await work(item.value)
  }
  await Promise.all(Array.from({ length: width }, worker))
}
