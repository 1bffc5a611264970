import { expect, it } from 'vitest'
import type { DeploymentEvent } from '../../../src/contracts/event.ts'
import type { RateRequest } from '../../../src/runtime/session/types/principal.ts'
import { createStrangersLog } from '../../../src/features/access/oauth/strangers-log.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

it('T27: strangers cannot fill the record: five rows a minute of a network, thirty of all, then the sum', async () => {
  const rows: DeploymentEvent[] = []
  let taken = new Map<string, number>()
  const takeRate = async (_principal: string, { rules }: RateRequest) => {
    if (rules.some(({ key, most }) => (taken.get(key) ?? 0) >= most)) return { retryAfterMs: 1 }
    for (const { key } of rules) taken.set(key, (taken.get(key) ?? 0) + 1)
    return {}
  }
  const log = { append: async (event: DeploymentEvent) => void rows.push(event) }
  const record = createStrangersLog(log, takeRate, (address) => address ?? '')
  const happen = (address: string, type: DeploymentEvent['type'] = 'oauth_refused') =>
    record(
      deploymentEventOf({ type, principal: '', trace: '', atMs: 1, data: { reason: 'denied' } }),
      { address },
    )

  for (let index = 0; index < 8; index += 1) await happen('a')
  expect(rows).toHaveLength(5)
  await happen('b')
  expect(rows.at(-1)?.data).toEqual({ reason: 'denied', unrecorded: 3 })
  for (let index = 0; index < 100; index += 1) await happen(`n${index}`)
  expect(rows).toHaveLength(30)
  await happen('a', 'oauth_client_registered')
  expect(rows.at(-1)).toMatchObject({ type: 'oauth_client_registered', data: { reason: 'denied' } })
  taken = new Map()
  await happen('a')
  expect(rows.at(-1)?.data).toEqual({ reason: 'denied', unrecorded: 76 })
})
