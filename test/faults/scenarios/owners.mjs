// Sessions of a user: a key that may be revoked, limits that change, an operator who decides beside the owner.
import { calls } from './basic.mjs'

const { once, repeatable } = calls

const requireApproval = ['http__request']

/** The entry of the first call that waits, as an operator finds it. */
async function waitingEntry(trial) {
  const { body } = await trial.asOperator('/api/operator/approvals?limit=100')
  return body.approvals.find(({ session }) => session === trial.session)
}

export const scenarios = [
  {
    name: 'keyed',
    /** The credential is registered with its principal, whose object does not answer at once, neither then nor at the end. */
    async story(trial) {
      await trial.signIn()
      await trial.refuse({ method: 'hold', skip: 0, times: 1 })
      await trial.create()
      await trial.submit('work', { delayMs: 1_500, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'unreleased',
    async story(trial) {
      await trial.signIn()
      await trial.refuse({ method: 'release', skip: 0, times: 1 })
      await trial.create()
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'limits',
    rests: true,
    /** A run that waits for an approval is lowered by its owner and raised by an operator. */
    async story(trial) {
      await trial.signIn()
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { requireApproval })
      await trial.parked(run)
      await trial.changeLimits(run, { maxTurns: 50 })
      await trial.changeLimits(run, { maxTurns: 60 }, { isOperator: true })
      await trial.settle(run, () => ({ decision: 'approve' }))
    },
  },
  {
    name: 'beyond-the-day',
    /** The owner raises a run that waits for tokens of a day that has a limit. */
    async story(trial) {
      await trial.signIn({ limits: { dailyTokens: 500_000 } })
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { limits: { maxTokens: 100 } })
      await trial.parked(run)
      await trial.changeLimits(run, { maxTokens: 200_000 })
      await trial.settle(run, () => ({ decision: 'approve' }))
    },
  },
  {
    name: 'approved-by-operator',
    rests: true,
    async story(trial) {
      await trial.signIn()
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { requireApproval })
      await trial.parked(run)
      const entry = await waitingEntry(trial)
      if (entry)
        await trial.asOperator(`/api/operator/approvals/${entry.id}`, {
          json: { decision: 'approve' },
        })
      await trial.settle(run, () => ({ decision: 'approve' }))
    },
  },
  {
    name: 'approved-with-a-rule',
    /** The rule of the approval is kept elsewhere, which does not answer at once. */
    async story(trial) {
      await trial.create()
      await trial.refuse({ method: 'addApprovalRule', skip: 0, times: 1 })
      const plan = { delayMs: 10, turns: [[once(trial, 'o')], [repeatable(trial, 'i')]] }
      const run = await trial.submit('work', plan, { requireApproval })
      await trial.parked(run)
      const { body } = await trial.call(trial.path(`/runs/${run}`))
      const [{ argsHash } = {}] = body.pauses ?? []
      await trial.settle(run, () => ({ decision: 'approve', also: 'session', argsHash }))
    },
  },
  {
    name: 'cancelled-by-operator',
    isCutShort: true,
    async story(trial) {
      await trial.signIn()
      await trial.create()
      const run = await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o', 400)]] })
      await trial.asked('o')
      await trial.asOperator(trial.path(`/runs/${run}/cancel`), { json: {} })
    },
  },
  {
    name: 'outcome-refused',
    isSlow: true,
    /** The owner may not ask this agent any more when the background work is over: its outcome is only noted. */
    async story(trial) {
      await trial.signIn({ agents: ['orchestrator', 'helper'] })
      await trial.create()
      const task = trial.task({ delayMs: 30, turns: [[once(trial, 'c-o', 1_500)]] })
      const input = { task, background: true, onOutcome: 'run' }
      const run = await trial.submit('work', { delayMs: 10, turns: [[['helper__run', input]]] })
      await trial.ended(run)
      await trial.asOperator(`/api/operator/principals/${trial.principal}`, {
        json: { agents: ['helper'] },
      })
    },
  },
  {
    name: 'heard',
    /** The end of a run begins another one in a session of its own. */
    async story(trial) {
      await trial.signIn()
      await trial.create()
      await trial.subscribe({
        event: 'isola.run_finished',
        task: trial.task({ delayMs: 10, turns: [[repeatable(trial, 'heard')]] }),
        deliver: { to: 'none' },
      })
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
      await trial.asked('heard')
    },
  },
  {
    name: 'spoken-as',
    async story(trial) {
      await trial.create()
      await trial.change({ persona: 'none' })
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'remembered',
    /** The agent keeps what was said in its long-term memory. */
    async story(trial) {
      await trial.create('keeper')
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'agent-changed-meanwhile',
    rests: true,
    /** A run waits while its agent gets another model: it goes on with its own, which its principal may still name. */
    async story(trial) {
      const id = `a${trial.session.slice(4, 24).toLowerCase()}`
      const write = (model) =>
        trial.asOperator('/api/agents', {
          json: {
            id,
            name: id,
            description: 'Works.',
            agent: { instructions: 'You work.', model, uses_tools: ['effects', 'http'] },
          },
        })
      await write('openai/scripted')
      await trial.create(id)
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      const run = await trial.submit('work', plan, { requireApproval })
      await trial.parked(run)
      await write('offline/offline')
      await trial.settle(run, () => ({ decision: 'approve' }))
    },
  },
  {
    name: 'only-made',
    /** A session is on the record before its first run. */
    async story(trial) {
      await trial.create()
      await trial.pause(2_500)
      await trial.submit('work', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
]
