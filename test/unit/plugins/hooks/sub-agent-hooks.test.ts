import { describe, expect, it } from 'vitest'
import type { HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import { bundle, createTestHooks, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

function open(answer: () => Promise<HookAnswer>, match = '*') {
  const told: HookEvent[] = []
  const subAgentStop = (event: HookEvent) => {
    told.push(event)
    return answer()
  }
  const contributes = { hooks: [{ on: 'subAgentStop', match }] }
  const plugin = loadOne(bundle({ id: 'watch', contributes }, () => ({ hooks: { subAgentStop } })))
  return { told, stopped: createTestHooks([plugin]).subAgentStopped! }
}

const rev = { agent: 'rev', child: 'ses_child', state: 'completed', text: 'All good.' }

describe('P16: a hook at subAgentStop', () => {
  it('is told who stopped, in whose session, and what came of it', async () => {
    const context = createToolContext()
    const { told, stopped } = open(async () => {})
    await stopped(rev, context)
    expect(told).toEqual([
      {
        on: 'subAgentStop',
        session: 'ses_root',
        run: 'run_1',
        agent: 'rev',
        principal: 'operator',
        result: { session: 'ses_child', state: 'completed' },
        text: 'All good.',
      },
    ])
    expect(context.events).toMatchObject([
      { type: 'hook_called', data: { on: 'subAgentStop', verdict: 'allow' } },
    ])
  })

  it('hears only of the agents that match', async () => {
    const { told, stopped } = open(async () => {}, 'writer')
    await stopped(rev, createToolContext())
    expect(told).toEqual([])
  })

  it.each([
    ['throws', async () => Promise.reject(new Error('boom'))],
    ['vetoes', async () => ({ veto: 'no' })],
  ])('breaks nothing: %s', async (_how, answer) => {
    const context = createToolContext()
    await open(answer).stopped(rev, context)
    expect(context.events).toMatchObject([{ data: { verdict: 'failed' } }])
  })

  it('is not there without a listener', () => {
    expect(createTestHooks([]).subAgentStopped).toBeUndefined()
  })
})
