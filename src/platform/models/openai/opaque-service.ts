import { defined } from '#contracts/defined.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { OpaqueFields } from '#contracts/message.ts'
import type { ModelToolCall } from '#contracts/model.ts'
import type { DraftedCall } from './call-drafts.ts'

/**
 * Whose opaque fields are whose: of a provider, at this address, and of one family of models. Another family at the same
 * address may be another vendor's.
 */
export function serviceOf(id: string, baseUrl: string | undefined, model: string): string {
  const url = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  // Without what may be a secret in it.
  const address = url ? `${url.host}${url.pathname.replace(/\/$/, '')}` : 'default'
  return `${id} ${address} ${familyOf(model)}`
}

/** `gemini` of `google/gemini-3-pro-preview`, `deepseek` of `deepseek-reasoner`. */
function familyOf(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return /^\p{L}+/u.exec(name)?.[0] ?? name
}

/** The calls of a reply, with what its service wants back. */
export function withOpaque(
  calls: readonly DraftedCall[],
  reply: JsonObject | undefined,
  service: string,
): readonly ModelToolCall[] {
  return calls.map(({ opaque: call, ...rest }, index) => {
    const isFirst = index === 0 && reply !== undefined
    const opaque = { service, ...(isFirst && { reply }), ...defined({ call }) }
    return isFirst || call ? { ...rest, opaque } : rest
  })
}

/** The part of them that this service gets back. */
export const ofService = (
  opaque: OpaqueFields | undefined,
  service: string | undefined,
): Pick<OpaqueFields, 'reply' | 'call'> =>
  opaque !== undefined && opaque.service === service ? opaque : {}
