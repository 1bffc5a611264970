import type { Toolset, ToolContext } from '#contracts/tool.ts'

/**
 * The tools of a run that passes a message on: the words of the call are the run's answer, and reach its readers as they
 * are said. Nothing of them is kept: the call's result has them all.
 */
export const withVoice = (toolset: Toolset, say: NonNullable<ToolContext['say']>): Toolset => ({
  ...toolset,
  resolve(name, input) {
    const found = toolset.resolve(name, input)
    if (!found) return undefined
    const { entry } = found
    const execute = (given: typeof input, context: ToolContext) =>
      entry.tool.execute(given, context.parent === undefined ? { ...context, say } : context)
    return { ...found, entry: { ...entry, tool: { ...entry.tool, execute } } }
  },
})
