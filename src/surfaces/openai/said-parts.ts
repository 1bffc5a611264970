import * as z from 'zod'
import { fromParts, imageDetails } from './types.ts'
import { type MessagePart } from '#platform/models/types.ts'
import { invalid, type Said, type SaidImage } from './history.ts'

/** Where an image may be: a model server reads it, so no scheme of that machine's own. */
export const imageUrl = z
  .string()
  .regex(/^(https?:\/\/|data:image\/)./, 'must be an http(s) or a data:image/ URL')
/** How closely a model is to look at it. */
export const imageDetail = z.enum(imageDetails)
/** The name of the speaker, where several speak. */
export const speakerName = z.string().max(200)

/** A part of a message in either API's words, and where the request has it. */
export interface SaidPart {
  readonly part: MessagePart
  readonly at: string
}

/** The speaker of a message: only a user's message and a tool's output may have images. */
type Speaker = 'user' | 'assistant' | 'system' | 'developer'

/** A speaker's name; clients write null or an empty text for none. */
const named = (name: string | null | undefined) => (name ? { name } : {})

/** The parts of one message, in order. Throws `request_invalid` for an image where no model service takes one. */
export function toSaidMessage(
  role: Speaker,
  parts: readonly SaidPart[],
  { at, name }: { readonly at: string; readonly name?: string | null | undefined },
): Said {
  if (role === 'user') return { kind: 'user', ...withPlaces(parts), ...named(name), at }
  const picture = parts.find(({ part }) => part.type === 'image')
  if (picture)
    throw invalid(
      picture.at,
      `an image is not taken in a message of role ${role}: send it in one of the user`,
    )
  const { text } = withPlaces(parts)
  return role === 'assistant'
    ? { kind: 'assistant', text, ...named(name), at }
    : { kind: 'instructions', text, ...named(name) }
}

/** A client tool's output. A tool message has no images: they come behind it, and the text names the place of each. */
export function toSaidOutput(
  callId: string,
  tool: string | undefined,
  parts: readonly SaidPart[],
  { at, partsAt }: { readonly at: string; readonly partsAt: string },
): readonly Said[] {
  const pictures = parts.filter(({ part }) => part.type === 'image')
  if (pictures.length === 0) return [{ kind: 'output', callId, output: withPlaces(parts).text, at }]
  let count = 0
  const output = parts.map(({ part, at: place }): SaidPart => {
    if (part.type === 'text') return { part, at: place }
    count += 1
    return { part: { type: 'text', text: `[Image ${count}: see the message below]` }, at: place }
  })
  const ofCall = tool ?? 'client'
  const about = {
    type: 'text',
    text: `Images of the output of ${ofCall} (call ${callId}):`,
  } as const
  const shown = withPlaces([{ part: about, at: partsAt }, ...pictures])
  return [
    { kind: 'output', callId, output: withPlaces(output).text, at },
    { kind: 'user', ...shown, ofCall, at: partsAt },
  ]
}

function withPlaces(parts: readonly SaidPart[]): {
  readonly text: string
  readonly images: readonly SaidImage[]
} {
  const { text, images = [] } = fromParts(parts.map(({ part }) => part))
  const places = parts.flatMap(({ part, at }) => (part.type === 'image' ? [at] : []))
  return { text, images: images.map((image, index) => ({ ...image, at: places[index]! })) }
}

/**
 * Checks that the last message can be answered: a user's message with content, or an output. A developer's message
 * behind it changes nothing about that.
 *
 * @param paramOf The faulty field where the last message is neither.
 */
export function checkAnswerable(
  all: readonly Said[],
  paramOf: (last: Exclude<Said, { kind: 'instructions' }> | undefined) => string,
): void {
  const last = all.findLast((said) => said.kind !== 'instructions')
  const isOver = last?.kind === 'compacted' && last.messages.at(-1)?.role === 'assistant'
  if (last?.kind === 'output' || (last?.kind === 'compacted' && !isOver)) return
  if (last?.kind !== 'user')
    throw invalid(
      paramOf(last),
      'ends with nothing to answer: the last message must be from the user or a tool',
    )
  if (last.text === '' && last.images.length === 0)
    throw invalid(`${last.at}.content`, 'is empty: say what is wanted')
}
