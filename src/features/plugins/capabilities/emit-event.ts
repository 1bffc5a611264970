import type { JsonObject } from '#contracts/json.ts'
import { ToolError, type Capabilities } from '#contracts/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { toJson } from '../sandbox/json-border.ts'
import type { CapabilityDeps } from './capability-deps.ts'
import type { CallLabels } from './plugin-flow.ts'

/** Longest payload of an event, as JSON. */
const maxPayloadChars = 8_192

const maxEvents = 20

export interface EmitOptions extends Pick<CapabilityDeps, 'validator'> {
  readonly context: Pick<ToolContext, 'call' | 'emit'>
  /** Absent in a hook. */
  readonly labels?: CallLabels | undefined
}

/**
 * Writes an event to the log of the call's session, with the label of everything the call knows; subscriptions read
 * it there.
 */
export function createEmit(
  { manifest: { id, contributes } }: Pick<LoadedPlugin, 'manifest'>,
  { context, labels, validator }: EmitOptions,
): Capabilities['emit'] {
  let count = 0
  return async (name, given) => {
    const refused = (message: string) => new ToolError('tool_failed', { message })
    if (!labels) throw refused('An event is emitted in a call of a tool, not in a hook.')
    const event = contributes.events.find((one) => one.name === name)
    if (!event)
      throw refused(
        `There is no event "${String(name).slice(0, 64)}" in contributes.events of plugin.yaml.`,
      )
    const payload = toJson(given)
    const verdict = validator.validate(event.schema, payload)
    if (!verdict.ok) throw refused(`payload${verdict.path}: ${verdict.message}`)
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
      throw refused('payload: must be an object.')
    const payloadChars = JSON.stringify(payload).length
    if (payloadChars > maxPayloadChars)
      throw refused(
        `payload: has ${payloadChars} characters as JSON, ${maxPayloadChars} are allowed.`,
      )
    if ((count += 1) > maxEvents) throw refused(`A call emits ${maxEvents} events at most.`)
    context.emit({
      type: 'event_emitted',
      data: {
        call: context.call,
        event: `${id}.${name}`,
        payload: payload as JsonObject, // checked just above
        payloadChars,
        label: labels.kept(),
        ...(event.public && { isPublic: true }),
      },
    })
  }
}
