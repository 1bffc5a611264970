// Proves that the harness sees what it is meant to see, before it is believed: data outlives the process, and a
// removed `storage.sync()` is noticed.
import { buildWorker } from './build.mjs'
import { runTrial, sessionFor } from './run-trial.mjs'
import { createTrial } from './trial.mjs'
import { createRandom } from './random.mjs'
import { startWorld } from './world.mjs'

const persistenceNumber = 1
const hubPoint = 'runtime/session/log/stream-hub#later.then.2'
/** Events are handed out turn by turn: the fault strikes just after one of these, the reader being there by then. */
const hits = [2, 3, 4, 5, 6, 7]
/** Slow enough for the reader to be there. */
const turnMs = 100
/** An alarm between the turns lets their rows reach the disk sooner: none comes while this looks. */
const recoverEveryMs = 4_000

const watched = {
  name: 'watched',
  async story(trial) {
    await trial.create()
    trial.follow()
    const url = trial.effect('look', 'look', 10)
    const turns = hits.map((hit) => [['effects__look', { url: `${url}&hit=${hit}` }]])
    await trial.submit('work', { delayMs: turnMs, turns })
  },
}

/** Written rows are there after SIGKILL (Miniflare ignores option names that it does not know). */
export async function provePersistence(world) {
  const trial = createTrial(world, {
    session: sessionFor(persistenceNumber),
    random: createRandom(persistenceNumber),
  })
  await trial.create()
  await trial.submit('kept', { text: 'kept' }, { wait: true })
  const livesBefore = world.lives()
  await world.crash()
  const { status, body } = await trial.call(trial.path())
  if (world.lives() !== livesBefore + 1) throw new Error('self-test: the process did not restart')
  if (status !== 200 || body.runs[0]?.state !== 'completed')
    throw new Error('self-test: what was acknowledged is gone after SIGKILL: persistence is off')
}

/** @returns What the oracle said of a product that acknowledges before it has synced. Throws if it said nothing. */
export async function proveSyncIsWatched(product) {
  const { text } = await buildWorker({ product, variant: 'no-sync' })
  const world = await startWorld({ text, product, recoverEveryMs })
  try {
    const results = await Promise.all(
      hits.map((hit) =>
        runTrial(world, {
          scenario: watched,
          number: hit,
          faults: [{ role: 'root', point: hubPoint, position: 'settled', hit, kind: 'abort' }],
        }),
      ),
    )
    const found = results.flatMap(({ problems }) => problems).filter(({ kind }) => kind === 'lost')
    if (found.length === 0)
      throw new Error('self-test: a removed storage.sync() was not noticed by the oracle')
    return found.map(({ what }) => what)
  } finally {
    await world.close()
  }
}
