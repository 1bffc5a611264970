// Conversations that another agent answers for a while.
import { calls } from './basic.mjs'

const { once } = calls

/** Asks the orchestrator, which hands the conversation over, and waits until it is so. */
async function handedOver(trial, agent = 'support') {
  const task = trial.task({ delayMs: 10, turns: [[once(trial, 'c-o')]] })
  const plan = { delayMs: 10, turns: [[[`${agent}__run`, { task }]]] }
  await trial.ended(await trial.submit('hand over', plan))
}

export const scenarios = [
  {
    name: 'handed-over',
    rests: true,
    async story(trial) {
      await trial.create()
      await handedOver(trial)
      await trial.idle()
      const passed = { delayMs: 10, turns: [[once(trial, 'd-o')]] }
      await trial.ended(await trial.submit('passed on', passed))
      await trial.reclaim()
      await trial.submit('after', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'cancelled-while-passed-on',
    isCutShort: true,
    async story(trial) {
      await trial.create()
      await handedOver(trial)
      const run = await trial.submit('passed on', {
        delayMs: 10,
        turns: [[once(trial, 'd-o', 1_500)]],
      })
      await trial.asked('d-o')
      await trial.cancel(run)
    },
  },
  {
    name: 'handoff-timed-out',
    isCutShort: true,
    /** Its terms allow 1.5 seconds without a message. */
    async story(trial) {
      await trial.create()
      await handedOver(trial, 'brief')
      await trial.pause(2_500)
      await trial.submit('after', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
]
