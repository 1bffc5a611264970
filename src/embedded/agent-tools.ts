import type { Tool, ToolResult } from '#contracts/tool.ts'

const noResult = {
  ok: false,
  error: {
    code: 'tool_failed',
    message: 'The tool gave no result: "execute" must resolve with { ok: true, output }.',
  },
} as const

/** A tool of the host's, which receives its errors: the model learns nothing of them. */
export function reportingTool(tool: Tool, onFault: (error: unknown) => void): Tool {
  const { name, description, inputSchema } = tool
  return {
    name,
    description,
    inputSchema,
    async execute(input, context) {
      try {
        const result: unknown = await tool.execute(input, context)
        const isResult = typeof Object(result).ok === 'boolean'
        return isResult ? (result as ToolResult) : noResult
      } catch (error) {
        onFault(error)
        throw error
      }
    },
  }
}
