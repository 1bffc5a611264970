import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ChangeBy, Generation, PluginChange, PluginPin } from '#contracts/plugin-catalog.ts'
import { idOf, type Outcome } from './changes.ts'
import type { DecideDeps } from './decide.ts'

/** Writes what a change comes to, each in one go with its event: the next generation, or that it was refused. */
export function createChangeWriter({ store, clock }: Pick<DecideDeps, 'store' | 'clock'>) {
  /** One event for a change, whether it took place or was refused. */
  const eventOf = (type: DeploymentEventType, { principal, trace, requestId }: ChangeBy) => ({
    type,
    principal,
    trace,
    atMs: clock.nowMs(),
    about: (data: JsonObject) => ({ ...data, ...(requestId !== '' && { request: requestId }) }),
  })

  const write = async (outcome: Outcome, before: Generation, by: ChangeBy): Promise<Generation> => {
    const { about, ...event } = eventOf(outcome.event, by)
    const number = before.number + 1
    const { policy, exposed, mcp = before.mcp } = outcome.generation ?? {}
    const next = outcome.generation && {
      number,
      installed: withKnownFacts(outcome.generation.installed, before),
      bundled: outcome.generation.bundled,
      ...(policy && { policy }),
      ...(mcp && { mcp }),
      ...(exposed && { exposed }),
    }
    const { plugin, server } = outcome.data
    const reason = [outcome.event, plugin ?? server]
      .filter((one) => typeof one === 'string')
      .join(' ')
    await store.commit({
      rows: outcome.rows,
      ...(outcome.version && { version: outcome.version }),
      ...(outcome.servers && { servers: outcome.servers }),
      ...(next && { generation: { ...next, reason } }),
      event: { ...event, data: about({ ...outcome.data, ...(next && { generation: number }) }) },
    })
    return next ?? before
  }

  const refuse = async (change: PluginChange, by: ChangeBy, error: unknown): Promise<void> => {
    const { about, ...event } = eventOf('plugin_refused', by)
    const code = errorCode(error)
    if (code === undefined || code === 'request_unavailable') return
    const data = { ...askedOf(change), code, why: errorMessage(error) }
    await store.commit({ rows: [], event: { ...event, data: about(data) } })
  }

  return { eventOf, write, refuse }
}

/** What was found out when a version was enabled holds for as long as it is. */
function withKnownFacts(pins: readonly PluginPin[], before: Generation): readonly PluginPin[] {
  return pins.map((pin) => {
    const known = before.installed.find(({ hash }) => hash === pin.hash)?.runsOwnAgent
    return known === undefined ? pin : { runsOwnAgent: known, ...pin }
  })
}

/** What was asked for, on the record. */
const askedOf = (change: PluginChange): JsonObject =>
  change.do === 'mcp'
    ? {
        asked: `mcp ${change.mcp.do}`,
        server: change.mcp.do === 'add' ? change.mcp.config.id : change.mcp.id,
      }
    : { asked: change.do, plugin: idOf(change) ?? '' }
