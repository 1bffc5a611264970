import { IsolaError } from '#contracts/errors.ts'
import { maxOpenHosts } from '#contracts/network-rule.ts'
import { policyOf, type Generation } from '../types/generation.ts'
import type { PartOutcome } from '../types/part-kind.ts'
import type { NetworkChange } from '../types/plugin-catalog.ts'
import { isReachableHost } from '#contracts/public-host.ts'
import { setPolicy } from './set-policy.ts'

/** Hosts opened and closed over the policy of now, whatever else is in it: two who change it at once lose nothing. */
export function setNetwork(
  { allow, deny, elsewhere }: NetworkChange,
  now: Generation,
): PartOutcome {
  const policy = policyOf(now)
  const { network } = policy
  const unknown = deny.filter((host) => !network.hosts.includes(host))
  for (const [index, host] of allow.entries()) refuseUnreachable(host, index)
  const hosts = [...new Set([...network.hosts, ...allow])].filter((host) => !deny.includes(host))
  if (hosts.length > maxOpenHosts) {
    const message = `allow: there would be ${hosts.length} hosts, and ${maxOpenHosts} may be open. Close some (isola http deny), or open a domain: *.example.com`
    throw new IsolaError('request_invalid', message, { param: 'allow' })
  }
  const next = { hosts: hosts.toSorted(), elsewhere: elsewhere ?? network.elsewhere }
  const outcome = setPolicy({ ...policy, network: next }, now)
  return {
    ...outcome,
    notes: [...outcome.notes, ...unknown.map((host) => `${host} was not allowed.`)],
  }
}

/** What egress refuses whatever is open: it is not in the list as if it could be reached. */
function refuseUnreachable(host: string, index: number): void {
  if (isReachableHost(host)) return
  const param = `allow[${index}]`
  const message = `${param}: ${host} is not public: no call reaches a private address, or a name of a machine's own network, whatever is open.`
  throw new IsolaError('request_invalid', message, { param })
}
