import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { Client, Progress } from '@modelcontextprotocol/client'
import type { Json, JsonSchema } from '#contracts/json.ts'
import type { McpCall, McpProgress } from '#runtime/catalog/types/mcp.ts'
import type { SchemaValidator, ToolResult } from '#contracts/tool.ts'
import { failure, toPromptOutcome, toResourceOutcome, toToolOutcome } from './outcome.ts'
import { isObject } from './definition-checks.ts'
import { rawOf } from './raw-replies.ts'

/** A call's receiver of progress, its signal, and the check of its output. */
export interface Asking {
  readonly tell: (progress: McpProgress) => void
  readonly signal: AbortSignal
  readonly validator: SchemaValidator
}

/** Puts one call to a server that is connected: one HTTP request. Throws what the library throws. */
export async function ask(
  client: Client,
  call: McpCall,
  { tell, signal, validator }: Asking,
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
        ...defined({ total }),
        ...(message !== undefined && { message: headOf(message, 500) }),
      }),
  }
  switch (call.ask.do) {
    case 'tool': {
      // Headers that mirror arguments, and the check of what comes back, go by what was approved.
      const { outputSchema, ...mirrored } = item.definition
      const toolDefinition = { ...mirrored, name: item.key } as never
      const params = { name: item.key, arguments: { ...call.ask.input }, _meta }
      const result = rawOf(await client.callTool(params, { ...options, toolDefinition }))
      const outcome = toToolOutcome(result, name)
      if (!outcome.ok || !isObject(outputSchema)) return outcome
      const { structured } = outcome.output as { readonly structured?: Json }
      const why = whyUnfit(structured, outputSchema, validator)
      return why === undefined ? outcome : failure(`The tool ${name} answered, but ${why}`)
    }
    case 'resource':
      return toResourceOutcome(
        rawOf(
          await client.readResource(
            { uri: call.ask.uri, _meta },
            { ...options, cacheMode: 'bypass' },
          ),
        ),
        name,
      )
    case 'prompt':
      return toPromptOutcome(
        rawOf(
          await client.getPrompt(
            { name: item.key, arguments: { ...call.ask.arguments }, _meta },
            options,
          ),
        ),
        name,
      )
  }
}

/** A structured answer has to fit its schema, since programs rely on it; the server did the call all the same. */
function whyUnfit(
  structured: Json | undefined,
  outputSchema: JsonSchema,
  validator: SchemaValidator,
): string | undefined {
  if (structured === undefined) return 'has an output schema and did not return structured content.'
  const verdict = validator.validate(outputSchema, structured)
  if (verdict.ok) return undefined
  return `its structured content does not match its output schema: ${verdict.path} ${verdict.message}`
}
