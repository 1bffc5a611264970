import type { JsonObject, JsonSchema } from '#contracts/json.ts'

/** The meaning of one name in `tools/list`. */
export interface OfferedTool {
  readonly kind: 'agent' | 'tool' | 'run_status' | 'run_cancel'
  /** The agent, or the full name of the tool. */
  readonly target: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations: JsonObject
}
