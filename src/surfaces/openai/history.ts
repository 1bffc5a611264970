import { defined } from '#contracts/defined.ts'
import { toCallInput } from '#contracts/foreign-json.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Json } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { Message, MessageImage, ToolCall } from '#contracts/message.ts'

/** A picture of a message: an address or a data URL. `at` names it in errors. */
export interface SaidImage extends MessageImage {
  readonly at: string
}

/** One item of a client's history, whatever its wire calls it. `at` names it in errors. */
export type Said =
  | { readonly kind: 'instructions'; readonly text: string; readonly name?: string }
  | {
      readonly kind: 'user'
      readonly text: string
      readonly images: readonly SaidImage[]
      /** Which of several speakers. */
      readonly name?: string
      /** The pictures of an output: a model service takes none there, so they come behind the outputs. */
      readonly ofCall?: string
      /** Present if a stranger can have written part of it. */
      readonly label?: Label
      readonly at: string
    }
  | {
      readonly kind: 'assistant'
      readonly text: string
      readonly name?: string
      /** If we have it from a run of ours. */
      readonly label?: Label
      readonly at: string
    }
  | {
      readonly kind: 'call'
      readonly callId: string
      readonly name: string
      /** As the client has it: JSON, or not. */
      readonly arguments: Json | undefined
      readonly at: string
    }
  /** The messages of a compaction that we gave out, in place of all messages before it. */
  | { readonly kind: 'compacted'; readonly messages: readonly Message[]; readonly at: string }
  | { readonly kind: 'output'; readonly callId: string; readonly output: Json; readonly at: string }

/** A client tool's output, for a call of ours. `at` is its place in the request (`messages[3]`). */
export interface ToolOutput {
  readonly callId: string
  readonly output: Json
  readonly at: string
}

/** A request's messages in our words. */
export interface History {
  /** System and developer messages, in order; added after our own instructions. */
  readonly instructions: string | undefined
  readonly messages: readonly Message[]
  /** Outputs of calls that are not in the list: of a response that the session has. */
  readonly orphans: readonly ToolOutput[]
  /** Outputs for the last calls in the list, and the messages after them: a run may wait for them. */
  readonly answers: { readonly outputs: readonly ToolOutput[]; readonly more: readonly Message[] }
}

interface Draft {
  readonly messages: Message[]
  readonly orphans: ToolOutput[]
  /** Calls without an output so far. */
  readonly asked: Map<string, string>
  answers: { readonly outputs: ToolOutput[]; readonly more: Message[] }
  /** Pictures of outputs that have to wait until every call has its own. */
  pictures: Extract<Said, { kind: 'user' }>[]
}

/**
 * Checks the order of what was said and converts it. Throws `request_invalid` naming the item.
 *
 * @param field The list, as the request calls it.
 */
export function toHistory(
  all: readonly Said[],
  field: 'messages' | 'input' | 'items' = 'messages',
): History {
  const texts: string[] = []
  const draft: Draft = {
    messages: [],
    orphans: [],
    asked: new Map(),
    answers: { outputs: [], more: [] },
    pictures: [],
  }
  let before: Said | undefined
  for (const said of all) {
    if (said.kind === 'instructions')
      texts.push(said.name ? `${said.name}: ${said.text}` : said.text)
    else if (said.kind === 'user' && said.ofCall !== undefined) draft.pictures.push(said)
    else {
      add(draft, said, before)
      before = said
    }
    if (draft.asked.size === 0) for (const one of draft.pictures.splice(0)) addUser(draft, one)
  }
  const [open] = draft.asked.keys()
  if (open !== undefined) throw invalid(field, `has no output for the call ${open}`)
  const text = texts.filter((part) => part !== '').join('\n\n')
  const { messages, orphans, answers } = draft
  return { instructions: text === '' ? undefined : text, messages, orphans, answers }
}

/** The client vouches for all of its messages, whatever role it gives them. */
function add(
  draft: Draft,
  said: Exclude<Said, { kind: 'instructions' }>,
  before: Said | undefined,
) {
  const { messages, asked, orphans } = draft
  const [open] = asked.keys()
  const mayFollow = said.kind === 'output' || (said.kind === 'call' && before?.kind === 'call')
  if (open !== undefined && !mayFollow) {
    throw invalid(said.at, `must be the output of the call ${open}`)
  }
  switch (said.kind) {
    case 'user':
      addUser(draft, said)
      return
    case 'compacted':
      messages.push(...said.messages)
      // A run that waited for one of these outputs has all that was compacted: it is not gone on with.
      draft.answers = { outputs: [], more: [] }
      return
    case 'assistant': {
      const { text, name, label } = said
      const taint = ['user', 'model'] as const
      const named = name === undefined ? {} : { name }
      messages.push({ role: 'assistant', text, ...named, taint, ...defined({ label }) })
      draft.answers = { outputs: [], more: [] }
      return
    }
    case 'call': {
      asked.set(said.callId, said.name)
      withCall(
        messages,
        { id: said.callId, name: said.name, input: toCallInput(said.arguments) },
        before,
      )
      draft.answers = { outputs: [], more: [] }
      return
    }
    case 'output': {
      const { callId, output, at } = said
      const name = asked.get(callId)
      if (orphans.some((other) => other.callId === callId)) {
        throw invalid(at, `is a second output of the call ${callId}`)
      }
      if (name === undefined) orphans.push({ callId, output, at })
      else {
        asked.delete(callId)
        const taint = ['user', `tool:${name}`] as const
        messages.push({ role: 'tool', callId, name, output, isError: false, taint })
        draft.answers.outputs.push({ callId, output, at })
      }
    }
  }
}

function addUser({ messages, answers }: Draft, said: Extract<Said, { kind: 'user' }>): void {
  const { text, images, name, ofCall, label } = said
  const message: Message = {
    role: 'user',
    text,
    ...(images.length > 0 && { images: images.map(({ at: _at, ...image }) => image) }),
    ...defined({ name }),
    taint: ['user', ...(ofCall === undefined ? [] : [`tool:${ofCall}` as const])],
    ...defined({ label }),
  }
  messages.push(message)
  answers.more.push(message)
}

/** Calls that were made together are one message, with what was said before them. */
function withCall(messages: Message[], call: ToolCall, before: Said | undefined): void {
  const last = messages.at(-1)
  const isSame = before?.kind === 'assistant' || before?.kind === 'call'
  if (isSame && last?.role === 'assistant') {
    messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] }
  } else {
    messages.push({ role: 'assistant', text: '', toolCalls: [call], taint: ['user', 'model'] })
  }
}

/** `request_invalid` at a place of the request. */
export function invalid(param: string, message: string): IsolaError {
  return new IsolaError('request_invalid', `${param}: ${message}.`, { param })
}
