import type { ChatMessage } from './chat-request.ts'
import { type History, invalid, type Said, type SaidImage, toHistory } from './history.ts'
import type { InlineImages } from './inline-images.ts'

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
  checkLast(all)
  const start = options.appendOnly ? all.findLastIndex(({ role }) => role === 'assistant') + 1 : 0
  const said = all.flatMap((message, index) => {
    const isInstruction = message.role === 'system' || message.role === 'developer'
    return isInstruction || index >= start ? toSaid(message, index) : []
  })
  const history = toHistory(await options.inline(said))
  const [orphan] = history.orphans
  if (orphan && start === 0) {
    throw invalid(orphan.at, 'answers no call of the assistant message before it')
  }
  return history
}

function toSaid(message: ChatMessage, index: number): Said[] {
  const at = `messages[${index}]`
  const text = textOf(message.content)
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ kind: 'instructions', text }]
    case 'user':
      return [{ kind: 'user', text, images: imagesOf(message.content, at), at }]
    case 'assistant':
      return [
        { kind: 'assistant', text, at },
        ...(message.tool_calls ?? []).map(({ id, function: called }) => {
          return { kind: 'call', callId: id, ...called, at } as const
        }),
      ]
    case 'tool':
      return [
        { kind: 'output', callId: message.tool_call_id, output: text, at: `${at}.tool_call_id` },
      ]
  }
}

function checkLast(all: readonly ChatMessage[]): void {
  const index = all.length - 1
  const last = all[index]
  if (last?.role === 'tool') return
  if (last?.role !== 'user') {
    const message = `is a message of role ${last?.role}: the last message must be from the user or a tool`
    throw invalid(`messages[${index}].role`, message)
  }
  if (textOf(last.content) === '' && imagesOf(last.content, '').length === 0) {
    throw invalid(`messages[${index}].content`, 'is empty: say what is wanted')
  }
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => {
    if (part.type === 'text') return part.text
    return part.type === 'refusal' ? part.refusal : ''
  })
  return texts.filter((text) => text !== '').join('\n')
}

function imagesOf(content: Content, at: string): readonly SaidImage[] {
  if (typeof content === 'string') return []
  return (content ?? []).flatMap((part, index) =>
    part.type === 'image_url'
      ? [{ url: part.image_url.url, at: `${at}.content[${index}].image_url.url` }]
      : [],
  )
}
