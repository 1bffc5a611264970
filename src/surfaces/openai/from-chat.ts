import { toConversation } from './chat-messages.ts'
import { type ChatRequest, toResponseFormat } from './chat-request.ts'
import type { InlineImages } from './inline-images.ts'
import type { ParsedRequest } from './work.ts'

/**
 * A chat request in the terms that both APIs share. No client comes back for its run, except in a session that it
 * names.
 */
export function fromChat(request: ChatRequest, inline: InlineImages): ParsedRequest {
  const { messages, model, response_format: format, stop } = request
  const schema = format?.type === 'json_schema' ? format.json_schema : undefined
  return {
    origin: 'chat',
    model,
    sampling: {
      temperature: request.temperature,
      topP: request.top_p,
      maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
      stop: typeof stop === 'string' ? [stop] : stop,
      seed: request.seed,
    },
    responseFormat: toResponseFormat(format?.type, schema),
    tools: request.tools,
    toolChoice: request.tool_choice,
    isParallel: request.parallel_tool_calls,
    history: async (appendOnly) => toConversation(messages, { appendOnly, inline }),
    isKept: false,
    isBackground: false,
  }
}
