import type { ChatMessage } from './chat-request.ts'
import { type History, invalid, type Said, toHistory } from './history.ts'
import type { InlineImages } from './inline-images.ts'
import { checkAnswerable, type SaidPart, toSaidMessage, toSaidOutput } from './said-parts.ts'

type Content = ChatMessage['content']

/**
 * Checks the order of a conversation and converts it, with the pictures that it names by address. Throws
 * `request_invalid` naming the message.
 *
 * @param appendOnly The session has the history: only what follows the last assistant message is taken.
 */
export async function toConversation(
  all: readonly ChatMessage[],
  options: { readonly appendOnly: boolean; readonly inline: InlineImages },
): Promise<History> {
  const start = options.appendOnly ? all.findLastIndex(({ role }) => role === 'assistant') + 1 : 0
  const tools = new Map(
    all.flatMap((message) =>
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map(({ id, function: called }) => [id, called.name] as const)
        : [],
    ),
  )
  const said = all.flatMap((message, index) => {
    const isInstruction = message.role === 'system' || message.role === 'developer'
    return isInstruction || index >= start ? toSaid(message, index, tools) : []
  })
  checkAnswerable(said, (last) => `${last?.at ?? `messages[${all.length - 1}]`}.role`)
  const history = toHistory(await options.inline(said))
  const [orphan] = history.orphans
  if (orphan && start === 0) {
    throw invalid(orphan.at, 'answers no call of the assistant message before it')
  }
  return history
}

function toSaid(
  message: ChatMessage,
  index: number,
  tools: ReadonlyMap<string, string>,
): readonly Said[] {
  const at = `messages[${index}]`
  const parts = toParts(message.content, at)
  const { role, name } = message
  switch (role) {
    case 'system':
    case 'developer':
    case 'user':
      return [toSaidMessage(role, parts, { at, name })]
    case 'assistant':
      return [
        toSaidMessage(role, parts, { at, name }),
        ...(message.tool_calls ?? []).map(({ id, function: called }) => {
          return { kind: 'call', callId: id, ...called, at } as const
        }),
      ]
    case 'tool': {
      const { tool_call_id: callId } = message
      const tool = tools.get(callId) ?? name ?? undefined
      return toSaidOutput(callId, tool, parts, { at: `${at}.tool_call_id`, partsAt: at })
    }
  }
}

function toParts(content: Content, at: string): readonly SaidPart[] {
  const all = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return (all ?? []).map((given, index): SaidPart => {
    const place = `${at}.content[${index}]`
    switch (given.type) {
      case 'text':
        return { part: { type: 'text', text: given.text }, at: place }
      case 'refusal':
        return { part: { type: 'text', text: given.refusal }, at: place }
      case 'image_url': {
        const { url, detail } = given.image_url
        const part = { type: 'image', url, ...(detail && { detail }) } as const
        return { part, at: `${place}.image_url.url` }
      }
    }
  })
}
