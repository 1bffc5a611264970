import { describe, expect, it } from 'vitest'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { Capabilities, HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import { bundle, createTestHooks, loadOne } from '../../../fakes/plugins.ts'

const ended = { session: 'ses_1', rootSession: 'ses_1', principal: 'ann', agent: 'orchestrator' }

function open(sessionEnd: (event: HookEvent, can: Capabilities) => Promise<HookAnswer>) {
  const contributes = { hooks: [{ on: 'sessionEnd' }] }
  const plugin = loadOne(bundle({ id: 'watch', contributes }, () => ({ hooks: { sessionEnd } })))
  const recorded: DeploymentEvent[] = []
  const hooks = createTestHooks([plugin], { record: async (event) => void recorded.push(event) })
  return { recorded, end: hooks.sessionEnded! }
}

describe('P16: a hook at sessionEnd', () => {
  it('is told whose session ends, and the deployment log says so', async () => {
    const told: HookEvent[] = []
    const { end, recorded } = open(async (event, { log }) => {
      told.push(event)
      log('gone')
    })
    await end(ended)
    const { session, principal, agent } = ended
    expect(told).toEqual([{ on: 'sessionEnd', session, run: '', agent, principal }])
    expect(recorded).toMatchObject([
      { type: 'hook_called', principal, data: { event: 'tool_log', session, plugin: 'watch' } },
      {
        type: 'hook_called',
        principal,
        trace: '0123456789abcdef0123456789abcdef',
        data: { on: 'sessionEnd', session, verdict: 'allow' },
      },
    ])
  })

  it('cannot keep the session', async () => {
    const { end, recorded } = open(async () => Promise.reject(new Error('stay')))
    await end(ended)
    expect(recorded).toMatchObject([{ data: { verdict: 'failed' } }])
  })
})
