import type { Generation, NetworkChange } from '#contracts/plugin-catalog.ts'
import { defaultToolPolicy } from '#contracts/tool-policy.ts'
import type { Outcome } from './changes.ts'
import { setPolicy } from './set-policy.ts'

/** Hosts opened and closed over the policy of now, whatever else is in it: two who change it at once lose nothing. */
export function setNetwork({ allow, deny, elsewhere }: NetworkChange, now: Generation): Outcome {
  const { policy = defaultToolPolicy } = now
  const { network } = policy
  const unknown = deny.filter((host) => !network.hosts.includes(host))
  const hosts = [...new Set([...network.hosts, ...allow])].filter((host) => !deny.includes(host))
  const next = { hosts: hosts.toSorted(), elsewhere: elsewhere ?? network.elsewhere }
  const outcome = setPolicy({ ...policy, network: next }, now)
  return {
    ...outcome,
    notes: [...outcome.notes, ...unknown.map((host) => `${host} was not allowed.`)],
  }
}
