import type { JsonObject } from '#contracts/json.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import { toJson } from '../sandbox/json-border.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { CallParts } from './capability-deps.ts'
import { failed } from '../types/plugin-output.ts'

/** Longest payload of an event, as JSON. */
const maxPayloadChars = 8_192

const maxEvents = 20

/**
 * Writes an event to the log of the call's session, with the label of everything the call knows; subscriptions read
 * it there.
 */
export function createEmit({ plugin, context, labels, deps }: CallParts): Capabilities['emit'] {
  const { id, contributes } = plugin.manifest
  let count = 0
  return async (name, given) => {
    if (!labels) throw failed('An event is emitted in a call of a tool, not in a hook.')
    const event = contributes.events.find((one) => one.name === name)
    if (!event)
      throw failed(
        `There is no event "${String(name).slice(0, 64)}" in contributes.events of plugin.yaml.`,
      )
    const payload = toJson(given)
    const verdict = deps.validator.validate(event.schema, payload)
    if (!verdict.ok) throw failed(`payload${verdict.path}: ${verdict.message}`)
    if (!isFields(payload)) throw failed('payload: must be an object.')
    const payloadChars = JSON.stringify(payload).length
    if (payloadChars > maxPayloadChars)
      throw failed(
        `payload: has ${payloadChars} characters as JSON, ${maxPayloadChars} are allowed.`,
      )
    if ((count += 1) > maxEvents) throw failed(`A call emits ${maxEvents} events at most.`)
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
