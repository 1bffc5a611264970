import { errorCode, errorMessage } from '#contracts/errors.ts'
import { withData, type DeploymentDraft, type DeploymentEventPlace } from '#contracts/event.ts'
import type { ChangeBy, Generation, PluginChange, PluginPin } from '#contracts/plugin-catalog.ts'
import { idOf, type Outcome } from './changes.ts'
import type { DecideDeps } from './decide.ts'

/** Writes what a change comes to, each in one go with its event: the next generation, or that it was refused. */
export function createChangeWriter({ store, clock }: Pick<DecideDeps, 'store' | 'clock'>) {
  /** Whoever asked, and now. */
  const placeOf = ({ principal, trace }: ChangeBy): DeploymentEventPlace => {
    return { principal, trace, atMs: clock.nowMs() }
  }

  const write = async (outcome: Outcome, before: Generation, by: ChangeBy): Promise<Generation> => {
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
    const { told } = outcome
    const reason = [told.type, ownerOf(told)].filter(Boolean).join(' ')
    const event = withData(told, { ...(next && { generation: number }), ...requestOf(by) })
    await store.commit({
      rows: outcome.rows,
      ...(outcome.version && { version: outcome.version }),
      ...(outcome.servers && { servers: outcome.servers }),
      ...(next && { generation: { ...next, reason } }),
      event: { ...event, ...placeOf(by) },
    })
    return next ?? before
  }

  const refuse = async (change: PluginChange, by: ChangeBy, error: unknown): Promise<void> => {
    const code = errorCode(error)
    if (code === undefined || code === 'request_unavailable') return
    const data = { ...askedOf(change), code, why: errorMessage(error), ...requestOf(by) }
    await store.commit({ rows: [], event: { type: 'plugin_refused', ...placeOf(by), data } })
  }

  return { placeOf, write, refuse }
}

const requestOf = ({ requestId }: ChangeBy) => (requestId === '' ? {} : { request: requestId })

/** The plugin or server that a change is about. */
function ownerOf({ data }: DeploymentDraft): unknown {
  if ('plugin' in data) return data.plugin
  return 'server' in data ? data.server : undefined
}

/** What was found out when a version was enabled holds for as long as it is. */
function withKnownFacts(pins: readonly PluginPin[], before: Generation): readonly PluginPin[] {
  return pins.map((pin) => {
    const known = before.installed.find(({ hash }) => hash === pin.hash)?.runsOwnAgent
    return known === undefined ? pin : { runsOwnAgent: known, ...pin }
  })
}

/** What was asked for, on the record. */
const askedOf = (change: PluginChange) =>
  change.do === 'mcp'
    ? {
        asked: `mcp ${change.mcp.do}`,
        server: change.mcp.do === 'add' ? change.mcp.config.id : change.mcp.id,
      }
    : { asked: change.do, plugin: idOf(change) ?? '' }
