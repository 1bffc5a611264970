import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createOutputStore, createOutputTool } from '../../src/runtime/catalog/output-tool.ts'
import type { ToolSubject } from './describe-tool.ts'

/** One of these tools, as the battery takes it. */
export function toSubject(
  entries: readonly ToolEntry[],
  name: string,
  sessions: SessionGateway,
): ToolSubject {
  const entry = entries.find(({ tool }) => tool.name === name)
  if (!entry) throw new Error(`no ${name} among ${entries.map(({ tool }) => tool.name)}`)
  return countedSubject(entry, sessions)
}

/** A tool with everything around it, counting how often its call was begun and told to stop. */
export function countedSubject(entry: ToolEntry, sessions: SessionGateway): ToolSubject {
  const traces: string[] = []
  let stops = 0
  return {
    entry: {
      ...entry,
      tool: {
        ...entry.tool,
        execute(input, context) {
          traces.push(context.trace)
          context.signal.addEventListener('abort', () => (stops += 1))
          return entry.tool.execute(input, context)
        },
      },
    },
    executions: () => traces.length,
    traces: () => traces,
    stopped: () => stops,
    outputs: createOutputStore(sessions),
    readOutput: createOutputTool(sessions),
  }
}
