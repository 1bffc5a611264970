import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import { withData, type DeploymentEventPlace } from '#contracts/event.ts'
import { type DeploymentDraft } from '../types/event.ts'
import type { Generation } from '../types/generation.ts'
import type { PartOutcome } from '../types/part-kind.ts'
import type { ChangeBy, PluginChange } from '../types/plugin-catalog.ts'
import type { PluginAfter, PluginStore } from '../types/plugin-store.ts'
import { skillOf } from '../types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { idOf } from './changes.ts'

/** The generation before a change, and the principal that makes it. */
export interface Writing {
  readonly before: Generation
  readonly by: ChangeBy
  /** The plugin to report after the write. */
  readonly view?: string | undefined
}

interface Wrote {
  /** The pins in force from now on, as far as the pins before were known. */
  readonly generation: Generation
  readonly after: PluginAfter
}

/** Writes the outcome of a change together with its event: the next generation, or the refusal. */
export function createChangeWriter({
  store,
  clock,
}: {
  readonly store: PluginStore
  readonly clock: Clock
}) {
  /** The caller and the time of an event. */
  const placeOf = ({ principal, trace }: ChangeBy): DeploymentEventPlace => {
    return { principal, trace, atMs: clock.nowMs() }
  }

  const write = async (outcome: PartOutcome, { before, by, view }: Writing): Promise<Wrote> => {
    const number = before.number + 1
    const next = outcome.pins && {
      number,
      pins: { ...before.pins, ...outcome.pins },
    }
    const { told, rows = [], version, bundle, servers, skills, skillVersion } = outcome
    const reason = [told.type, ownerOf(told)].filter(Boolean).join(' ')
    const event = withData(told, { ...(next && { generation: number }), ...requestOf(by) })
    const after = await store.commit({
      rows,
      ...defined({ version, bundle, servers, skills, skillVersion }),
      ...(next && { generation: { ...next, before, reason } }),
      event: { ...event, ...placeOf(by) },
      view,
    })
    return { generation: next ?? before, after }
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

/** The plugin, server or skill that a change is about. */
function ownerOf({ data }: DeploymentDraft): unknown {
  if ('plugin' in data) return data.plugin
  if ('skill' in data) return data.skill
  return 'server' in data ? data.server : undefined
}

/** The requested change, as the record has it. */
function askedOf(change: PluginChange) {
  switch (change.do) {
    case 'mcp': {
      const { mcp } = change
      return { asked: `mcp ${mcp.do}`, server: mcp.do === 'add' ? mcp.config.id : mcp.id }
    }
    case 'skill':
      return { asked: `skill ${change.skill.do}`, skill: skillOf(change.skill) }
    default:
      return { asked: change.do, plugin: idOf(change) ?? '' }
  }
}
