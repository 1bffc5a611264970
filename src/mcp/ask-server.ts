import { headOf } from '#contracts/cut.ts'
import type { Client, Progress } from '@modelcontextprotocol/client'
import type { McpCall, McpProgress } from '#contracts/mcp.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { toPromptOutcome, toResourceOutcome, toToolOutcome } from './outcome.ts'

/** What a call tells on its way, and how it is ended. */
export interface Asking {
  readonly tell: (progress: McpProgress) => void
  readonly signal: AbortSignal
}

/** Puts one call to a server that is connected: one HTTP request. Throws what the library throws. */
export async function ask(
  client: Client,
  call: McpCall,
  { tell, signal }: Asking,
): Promise<ToolResult> {
  const { item, timeoutMs, traceparent, idempotencyKey } = call
  const name = `${call.config.id}__${item.tool ?? item.key}`
  const _meta = { traceparent, 'isola/idempotency-key': idempotencyKey }
  const options = {
    signal,
    timeout: timeoutMs,
    maxTotalTimeout: timeoutMs,
    onprogress: ({ progress, total, message }: Progress) =>
      tell({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message: headOf(message, 500) }),
      }),
  }
  switch (call.ask.do) {
    case 'tool': {
      // Headers that mirror arguments, and the check of what comes back, go by what was approved.
      const toolDefinition = { ...item.definition, name: item.key } as never
      const params = { name: item.key, arguments: { ...call.ask.input }, _meta }
      return toToolOutcome(await client.callTool(params, { ...options, toolDefinition }), name)
    }
    case 'resource':
      return toResourceOutcome(
        await client.readResource(
          { uri: call.ask.uri, _meta },
          { ...options, cacheMode: 'bypass' },
        ),
        name,
      )
    case 'prompt':
      return toPromptOutcome(
        await client.getPrompt(
          { name: item.key, arguments: { ...call.ask.arguments }, _meta },
          options,
        ),
        name,
      )
  }
}
