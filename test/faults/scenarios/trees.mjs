// Sessions below sessions.
import { calls } from './basic.mjs'

const { once, repeatable, reading } = calls

const help = (trial, plan) => ['helper__run', { task: trial.task({ delayMs: 10, ...plan }) }]

export const scenarios = [
  {
    name: 'child',
    async story(trial) {
      await trial.create()
      trial.follow()
      const child = help(trial, { turns: [[repeatable(trial, 'c-i')], [once(trial, 'c-o', 40)]] })
      await trial.submit('work', { delayMs: 10, turns: [[child], [once(trial, 'o')]] })
    },
  },
  {
    name: 'children',
    async story(trial) {
      await trial.create()
      const child = (name) =>
        help(trial, {
          turns: [[once(trial, `${name}-o`, 30), ['kv__set', { key: name, value: name }]]],
        })
      const side = [reading(trial, 'r'), repeatable(trial, 'i', 100)]
      await trial.submit('work', {
        delayMs: 10,
        turns: [[child('a'), child('b'), ...side]],
      })
    },
  },
  {
    name: 'undelivered',
    isRare: true,
    /** The parent does not take the outcome of background work at the first try. */
    async story(trial) {
      await trial.create()
      await trial.refuse({ method: 'deliver', skip: 0, times: 1 })
      const task = trial.task({ delayMs: 30, turns: [[once(trial, 'c-o', 100)]] })
      await trial.submit('work', {
        delayMs: 10,
        turns: [[['helper__run', { task, background: true }]], [once(trial, 'o', 100)]],
      })
    },
  },
  {
    name: 'code',
    async story(trial) {
      await trial.create()
      trial.follow()
      const child = help(trial, { turns: [[once(trial, 'c-o', 40)]] })
      const calls = [repeatable(trial, 'b-i'), child, once(trial, 'b-o', 40)]
      await trial.submit('work', {
        delayMs: 10,
        turns: [[['broker__pass', { calls, prompt: 'Sum up.' }]], [once(trial, 'o')]],
      })
    },
  },
  {
    name: 'cold-root',
    isRare: true,
    isCutShort: true,
    /** The child asks for the tree's storage while its root is not in memory. */
    faults: [
      {
        role: 'root',
        point: 'runtime/kernel/act#watch.1',
        position: 'during',
        hit: 2,
        kind: 'abort',
      },
    ],
    async story(trial) {
      await trial.create()
      const keys = ['a', 'b', 'c', 'd', 'e', 'f']
      const child = help(trial, {
        delayMs: 70,
        turns: keys.map((key) => [['kv__set', { key, value: key }]]),
      })
      await trial.submit('work', { delayMs: 10, turns: [[child], [once(trial, 'o')]] })
    },
  },
  {
    name: 'cancel',
    isCutShort: true,
    async story(trial) {
      await trial.create()
      trial.follow()
      const child = help(trial, { turns: [[once(trial, 'c-o', 1_500)], [once(trial, 'c-late')]] })
      const run = await trial.submit('work', {
        delayMs: 10,
        turns: [[child], [once(trial, 'late')]],
      })
      await trial.asked('c-o')
      await trial.cancel(run)
    },
  },
  {
    name: 'cancel-queued',
    isCutShort: true,
    async story(trial) {
      await trial.create()
      const slow = { delayMs: 10, turns: [[once(trial, 'o', 500)]] }
      const [, second] = await Promise.all([
        trial.submit('first', slow),
        trial.submit('second', { delayMs: 10, turns: [[once(trial, 'second')]] }),
      ])
      await trial.cancel(second)
    },
  },
]
