// What a session does every day. A scenario is a name and a story; the oracle knows by itself what must hold.

const once = (trial, name, ms = 15) => [
  'http__request',
  { method: 'POST', url: trial.effect('plain', name, ms) },
]
const repeatable = (trial, name, ms = 15) => [
  'effects__put',
  { url: trial.effect('honour', name, ms) },
]
const reading = (trial, name, ms = 10) => ['effects__look', { url: trial.effect('look', name, ms) }]

export const calls = { once, repeatable, reading }

export const scenarios = [
  {
    name: 'plain',
    async story(trial) {
      await trial.create()
      await trial.submit('hello', { delayMs: 20, text: 'Hello.' })
    },
  },
  {
    name: 'wait',
    async story(trial) {
      await trial.create()
      await trial.submit('hello', { delayMs: 20, turns: [[reading(trial, 'r')]] }, { wait: true })
    },
  },
  {
    name: 'tools',
    async story(trial) {
      await trial.create()
      trial.follow()
      await trial.submit('work', {
        delayMs: 10,
        turns: [[reading(trial, 'r')], [repeatable(trial, 'i')], [once(trial, 'o')]],
      })
    },
  },
  {
    name: 'ten-tools',
    async story(trial) {
      await trial.create()
      const many = (make, name, count) =>
        Array.from({ length: count }, (_, index) => make(trial, `${name}${index}`, 5 + 40 * index))
      await trial.submit('work', {
        delayMs: 10,
        turns: [
          [
            ...many(repeatable, 'i', 4),
            ...many(once, 'o', 3),
            ...many(reading, 'r', 1),
            ['kv__set', { key: 'a', value: 1 }],
            ['kv__get', { key: 'a' }],
          ],
        ],
      })
    },
  },
  {
    name: 'slow-and-long',
    async story(trial) {
      await trial.create()
      const url = trial.effect('look', 'r', 5)
      await trial.submit('work', {
        delayMs: 10,
        turns: [
          [['effects__late', { url: trial.effect('look', 'late', 700) }]],
          [
            ['effects__look', { url, chars: 90_000 }],
            ['memory__note', { text: 'a note' }],
          ],
        ],
      })
    },
  },
  {
    name: 'queue',
    async story(trial) {
      await trial.create()
      trial.follow()
      const plan = (name) => ({ delayMs: 30, turns: [[once(trial, name)]] })
      const names = ['first', 'second', 'third']
      await Promise.all(names.map((name) => trial.submit(name, plan(name))))
    },
  },
  {
    name: 'same-key',
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 30, turns: [[once(trial, 'o')]] }
      const copies = [{}, { wait: true }, { wait: true }]
      await Promise.all(copies.map((options) => trial.submit('same', plan, options)))
      await trial.submit('same', plan, { wait: true })
    },
  },
  {
    name: 'chat',
    async story(trial) {
      await trial.create()
      await trial.chat('first', {
        delayMs: 10,
        chunkDelayMs: 5,
        text: 'A longer answer. '.repeat(4),
      })
      await trial.chat('second', { delayMs: 10, turns: [[repeatable(trial, 'i')]] })
    },
  },
  {
    name: 'hang-up',
    isSlow: true,
    /** A closed stream cancels after ten seconds. */
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o', 20_000)]] }
      await trial.chat('work', plan, { leaveAfterMs: 150 })
    },
  },
  {
    name: 'conversation',
    rests: true,
    async story(trial) {
      await trial.create()
      await trial.idle()
      for (const name of ['first', 'second']) {
        const run = await trial.submit(name, { delayMs: 10, turns: [[repeatable(trial, name)]] })
        await trial.ended(run)
        await trial.idle()
      }
    },
  },
  {
    name: 'reads',
    async story(trial) {
      await trial.create()
      await trial.submit('work', { delayMs: 40, turns: [[once(trial, 'o', 60)]] })
      for (const what of ['', '/transcript', '/events?follow=false', '']) {
        await trial.read(what)
      }
    },
  },
  {
    name: 'delete',
    isCutShort: true,
    async story(trial) {
      await trial.create()
      const run = await trial.submit('work', {
        delayMs: 10,
        turns: [[['helper__run', { task: trial.task({ turns: [[once(trial, 'o', 400)]] }) }]]],
      })
      if (trial.random.below(2) === 0) await trial.ended(run)
      else await trial.asked('o')
      await trial.delete()
    },
  },
  {
    name: 'delete-large',
    isRare: true,
    isCutShort: true,
    /** Struck while its rows go, a batch at a time: a timer removes the rest. */
    faults: [
      {
        role: 'root',
        point: 'runtime/session/upkeep/ending#removeRows.1',
        // Before that nothing of the removal is on the disk: the session would be there again.
        position: 'settled',
        hit: 1,
        kind: 'abort',
      },
    ],
    async story(trial) {
      await trial.create()
      const url = trial.effect('look', 'r', 5)
      const large = Array.from({ length: 10 }, () => ['effects__look', { url, chars: 950_000 }])
      await trial.ended(await trial.submit('work', { delayMs: 10, turns: [large] }))
      await trial.delete()
      // It looks absent from the first row on; the timer comes two seconds later (lib/composition.ts).
      await trial.pause(4_000)
    },
  },
]
