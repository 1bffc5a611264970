// Runs that wait for someone outside, are spoken to on their way, or start what outlives them.
import { calls } from './basic.mjs'

const { once, repeatable } = calls

const toolOfOurs = {
  name: 'our_tool',
  description: 'Runs at the client.',
  inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
}

const approve = () => ({ decision: 'approve' })
const answer = () => ({ decision: 'result', output: 'blue' })
const deny = () => ({ decision: 'deny', message: 'No.' })

export const scenarios = [
  {
    name: 'approval',
    rests: true,
    async story(trial) {
      await trial.create()
      trial.follow()
      const plan = { delayMs: 10, turns: [[once(trial, 'o'), repeatable(trial, 'i')]] }
      const run = await trial.submit('work', plan, { requireApproval: ['http__request'] })
      await trial.settle(run, approve)
    },
  },
  {
    name: 'denial',
    isCutShort: true,
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')], [once(trial, 'p')]] }
      const run = await trial.submit('work', plan, {
        requireApproval: ['http__request'],
        wait: true,
      })
      await trial.settle(run, deny)
    },
  },
  {
    name: 'question',
    rests: true,
    async story(trial) {
      await trial.create()
      const ask = ['isola__ask', { question: 'Which colour?' }]
      const ours = ['our_tool', { what: 'this' }]
      const plan = { delayMs: 10, turns: [[ask, ours], [once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { mayAsk: true, clientTools: [toolOfOurs] })
      await trial.submit('meanwhile', { delayMs: 10, turns: [[once(trial, 'm')]] })
      await trial.settle(run, answer)
    },
  },
  {
    name: 'child-waits',
    rests: true,
    async story(trial) {
      await trial.create()
      const task = trial.task({ delayMs: 10, turns: [[once(trial, 'c-o')]] })
      const plan = { delayMs: 10, turns: [[['helper__run', { task }]], [once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { requireApproval: ['http__request'] })
      await trial.settle(run, approve)
    },
  },
  {
    name: 'expiry',
    isSlow: true,
    isCutShort: true,
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      await trial.submit('work', plan, { requireApproval: ['http__request'] })
    },
  },
  {
    name: 'cancel-waiting',
    isCutShort: true,
    rests: true,
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { requireApproval: ['http__request'] })
      await trial.parked(run)
      await trial.idle()
      await trial.cancel(run)
    },
  },
  {
    name: 'steering',
    async story(trial) {
      await trial.create()
      trial.follow()
      const plan = { delayMs: 60, turns: [[once(trial, 'a', 80)], [once(trial, 'b')]] }
      const run = await trial.submit('work', plan)
      await Promise.all(['one', 'two'].map((name) => trial.steer(run, name, `Mind ${name}.`)))
    },
  },
  {
    name: 'background',
    async story(trial) {
      await trial.create()
      const task = trial.task({ delayMs: 30, turns: [[once(trial, 'c-o', 100)]] })
      const plan = {
        delayMs: 10,
        turns: [[['helper__run', { task, background: true }]], [once(trial, 'o')]],
      }
      await trial.submit('work', plan)
      await trial.submit('next', { delayMs: 300, turns: [[once(trial, 'n', 100)]] })
    },
  },
  {
    name: 'outcome',
    /** The work goes on for longer than the run that started it: its outcome begins another one. */
    expectsOutcomeRun: true,
    async story(trial) {
      await trial.create()
      trial.follow()
      const task = trial.task({ delayMs: 30, turns: [[once(trial, 'c-o', 400)]] })
      const input = { task, background: true, onOutcome: 'run' }
      await trial.submit('work', { delayMs: 10, turns: [[['helper__run', input]]] })
    },
  },
  {
    name: 'asked-back',
    async story(trial) {
      await trial.create()
      const run = await trial.submit('work', { delayMs: 60, turns: [[once(trial, 'o', 60)]] })
      await trial.askBack(run)
    },
  },
  {
    name: 'no-ledger',
    isRare: true,
    isCutShort: true,
    /** Taken up again while its principal's ledger does not answer. */
    faults: [
      {
        role: 'root',
        point: 'runtime/kernel/leases/generate#createGenerate.1',
        position: 'settled',
        hit: 1,
        kind: 'abort',
      },
    ],
    async story(trial) {
      await trial.create()
      await trial.refuse({ method: 'reserve', skip: 1, times: 2 })
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'chat-again',
    isRare: true,
    /** Declined before it is accepted, then accepted, then read once more: always under the same key. */
    async story(trial) {
      await trial.create()
      await trial.refuse({ method: 'reserve', skip: 0, times: 1 })
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      await trial.chat('work', plan)
      await trial.chat('work', plan)
    },
  },
  {
    name: 'forgotten',
    isRare: true,
    isCutShort: true,
    async story(trial) {
      await trial.chatOnceAndForget('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'forgotten-with-child',
    isRare: true,
    isCutShort: true,
    /** The child's time is over before that of the session above it, which still knows it. */
    async story(trial) {
      const task = trial.task({ delayMs: 10, turns: [[once(trial, 'c-o')]] })
      const turns = [[['helper__run', { task }]], [once(trial, 'o', 1_000)]]
      await trial.chatOnceAndForget('work', { delayMs: 10, turns })
    },
  },
  {
    name: 'given-up',
    isRare: true,
    isCutShort: true,
    /** Six times in the same turn: one more than a run may be taken up. */
    faults: Array.from({ length: 6 }, () => ({
      role: 'root',
      point: 'runtime/kernel/leases/generate#createGenerate.1',
      position: 'settled',
      hit: 1,
      kind: 'abort',
    })),
    async story(trial) {
      await trial.create()
      const run = await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
      await trial.ended(run)
      await trial.retry(run, 'work')
    },
  },
]
