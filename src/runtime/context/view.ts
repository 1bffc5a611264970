import { defined } from '#contracts/defined.ts'
import type { Compaction, ContextPart } from '#contracts/context.ts'
import type { Message } from '#contracts/message.ts'

/** One message to send. */
export interface Entry {
  /** Its place in the transcript; absent for a summary. */
  readonly at?: number
  readonly message: Message
  /** Another text or output stands in its place. */
  readonly isReplaced: boolean
}

/** The messages to send: the parts of the record, then every later message. */
export type ToView = (messages: readonly Message[], record?: Compaction) => readonly Entry[]

/** Makes each part of a record once, so that a message of it is the same one at every step, and is counted once. */
export function createView(): ToView {
  const known = new WeakMap<ContextPart, Entry & { readonly of: Message | undefined }>()
  const once = (part: ContextPart, of: Message | undefined, made: () => Entry): Entry => {
    const before = known.get(part)
    if (before && before.of === of) return before
    const entry = { ...made(), of }
    known.set(part, entry)
    return entry
  }
  const entriesOf = (part: ContextPart, messages: readonly Message[]): readonly Entry[] => {
    if ('keep' in part) return asTheyAre(messages, ...part.keep)
    if ('summary' in part) {
      const { summary: text, taint, label } = part
      return [
        once(part, undefined, () => ({
          message: { role: 'user', text, taint, ...defined({ label }) },
          isReplaced: false,
        })),
      ]
    }
    const message = messages[part.at]
    return message ? [once(part, message, () => replacedBy(part, message))] : []
  }
  return (messages, record) => [
    ...(record?.parts ?? []).flatMap((part) => entriesOf(part, messages)),
    ...asTheyAre(messages, record?.covers ?? 0, messages.length),
  ]
}

const asTheyAre = (messages: readonly Message[], from: number, to: number): readonly Entry[] =>
  messages
    .slice(from, to)
    .map((message, index) => ({ at: from + index, message, isReplaced: false }))

function replacedBy(part: Extract<ContextPart, { readonly at: number }>, message: Message): Entry {
  const { at } = part
  if ('output' in part && message.role === 'tool')
    return { at, message: { ...message, output: part.output }, isReplaced: true }
  if ('text' in part && message.role === 'user')
    return { at, message: { ...message, text: part.text }, isReplaced: true }
  return { at, message, isReplaced: false }
}

/** The other way round: entries as parts, neighbours that are as they were in one. */
export function toParts(entries: readonly Entry[]): readonly ContextPart[] {
  const parts: ContextPart[] = []
  for (const { at, message, isReplaced } of entries) {
    const last = parts.at(-1)
    if (at === undefined) {
      if (message.role === 'user') {
        const { text: summary, taint, label } = message
        parts.push({ summary, taint, ...defined({ label }) })
      }
    } else if (isReplaced && message.role === 'tool') parts.push({ at, output: message.output })
    else if (isReplaced && message.role === 'user') parts.push({ at, text: message.text })
    else if (last && 'keep' in last && last.keep[1] === at)
      parts[parts.length - 1] = { keep: [last.keep[0], at + 1] }
    else parts.push({ keep: [at, at + 1] })
  }
  return parts
}

/** The newest record of this very transcript. */
export function newestOf(
  messages: readonly Message[],
  records: readonly Compaction[],
): Compaction | undefined {
  return records.findLast(
    ({ version, covers, mark }) =>
      version === 1 && covers <= messages.length && markOf(messages, covers) === mark,
  )
}

/**
 * A checksum (FNV-1a) of who said what, to recognise a branch; no protection against an attacker. Outputs are left out,
 * since the outcome of a waiting call comes later; so are the instructions, which are rendered anew.
 */
export function markOf(messages: readonly Message[], count = messages.length): string {
  let sum = 0x811c9dc5
  const add = (code: number) => {
    sum = Math.imul(sum ^ code, 0x01000193) >>> 0
  }
  const addText = (text: string) => {
    add(text.length)
    for (let at = Math.max(0, text.length - 24); at < text.length; at += 1) add(text.charCodeAt(at))
  }
  for (let at = 0; at < count; at += 1) {
    const message = messages[at]
    if (!message) break
    add(message.role.charCodeAt(0))
    switch (message.role) {
      case 'system':
        break
      case 'user':
        addText(message.text)
        break
      case 'assistant':
        addText(message.text)
        for (const { id } of message.toolCalls ?? []) addText(id)
        break
      case 'tool':
        addText(message.callId)
    }
  }
  return `${count}.${sum.toString(16)}`
}
