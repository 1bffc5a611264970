import { describe, expect, it } from 'vitest'
import { createSessionWorld, never, session, settle } from '../../switches/session-world.ts'
import { agentSpec, says, toolEntry } from '../../fakes/kernel.ts'
import { childIdOf } from '../../../src/sessions/gateway.ts'
import { childrenIn } from '../../../src/sessions/storage/children.ts'

const spends = agentSpec().limits
const callsChild = (_request: unknown, index: number) =>
  index === 0 ? { calls: [{ name: 'reviewer__run', input: { task: 'look' } }] } : { text: 'done' }

/** A session whose agent calls another one, which never answers. */
function worldOf(options: { readonly background?: boolean } = {}) {
  const cancelled: (readonly unknown[])[] = []
  const world = createSessionWorld({
    script: (request, index) => {
      const { calls } = callsChild(request, index)
      return calls && options.background
        ? { calls: [{ name: 'reviewer__run', input: { task: 'look', background: true } }] }
        : callsChild(request, index)
    },
    entries: [
      toolEntry(
        'reviewer__run',
        async ({ background }, { emit, run, call }) => {
          const child = `child(${session},${run},${call})`
          const data = {
            agent: 'reviewer',
            session: child,
            call,
            ...(background === true && { background }),
          }
          emit({ type: 'agent_invoked', data })
          return background === true ? says('started') : never
        },
        { isIdempotent: true, spends, agent: 'reviewer' },
      ),
    ],
    others: { cancelCall: async (...args) => void cancelled.push(args) },
  })
  return { ...world, cancelled }
}

describe('a child', () => {
  it('E8, I10: is cancelled after a crash that came before anything but its intent was on record', async () => {
    const { wake, cancelled } = worldOf()
    const { live, receipt } = await wake().take()
    await live!.accepted
    await settle()
    // The object ends here: its next look, which would tell of the child, never comes.
    const life = wake()
    const run = life.row(receipt.run)
    expect(JSON.stringify(life.store.turns(run.order))).not.toContain('agent_invoked')
    await life.runs.cancel(run, 'enough')!.done
    await settle()
    expect(cancelled).toEqual([[receipt.run, expect.any(String), expect.any(String)]])
  })
})
