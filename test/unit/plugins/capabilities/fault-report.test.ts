import { expect, it } from 'vitest'
import type { CallReport, CallVerdict } from '#runtime/catalog/types/plugin-catalog.ts'
import { createFaultReport } from '../../../../src/features/plugins/capabilities/fault-report.ts'
import type { LoadedPlugin } from '../../../../src/features/plugins/loading/in-process-host.ts'

const plugin = { hash: 'h', grantEpoch: 1, manifest: { id: 'notes' } } as LoadedPlugin
const { signal } = new AbortController()

function createWorld(verdict?: CallVerdict) {
  let nowMs = 0
  const reports: CallReport[] = []
  const faults = createFaultReport({
    clock: { nowMs: () => nowMs },
    async report(one) {
      reports.push(one)
      return one.fault ? verdict : undefined
    },
  })
  const fail = async (principal: string) => {
    faults.failed(plugin, new Error('boom'), { signal, principal })
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  return { faults, reports, fail, wait: (ms: number) => void (nowMs += ms) }
}

it('P25: a success is reported once after a fault, for the principal that had the fault', async () => {
  const { faults, reports, fail } = createWorld()
  faults.wentWell(plugin, 'alice')
  await fail('alice')
  for (const principal of ['bob', 'alice', 'alice']) faults.wentWell(plugin, principal)
  expect(reports).toEqual([
    { id: 'notes', hash: 'h', principal: 'alice', fault: 'crashed' },
    { id: 'notes', hash: 'h', principal: 'alice' },
  ])
})

it('P25: a plugin that keeps failing for one is off for that one, for a while', async () => {
  const { faults, fail, wait } = createWorld({ why: 'It failed.', offUntilMs: 600_000 })
  expect(faults.offFor(plugin, 'alice')).toBeUndefined()
  await fail('alice')
  expect(faults.offFor(plugin, 'alice')).toEqual({
    code: 'tool_denied',
    message: 'The plugin notes is off for you until 00:10 UTC. It failed.',
  })
  expect(faults.offFor(plugin, 'bob')).toBeUndefined()
  wait(600_000)
  expect(faults.offFor(plugin, 'alice')).toBeUndefined()
})
