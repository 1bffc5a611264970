import { headOf } from '#contracts/cut.ts'
import type { PluginTools } from '#features/plugins/types/plugin.ts'
import type { JsonObject } from '#contracts/json.ts'
import { toJson } from '../sandbox/json-border.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { CallParts } from './capability-deps.ts'
import { failed } from '../types/plugin-output.ts'

const maxNameChars = 64
const maxMessageChars = 2_000

/**
 * Calls other tools for a plugin's code: only those of its `uses_tools`, each through every gate. A failed tool
 * throws its error text. A tool that is not listed is refused and recorded.
 */
export function createPluginTools({
  context: { inner, call, emit },
  labels,
}: CallParts): PluginTools {
  const refused = new Set<string>()
  return {
    async call(name, given) {
      const tool = headOf(String(name), maxNameChars)
      if (!inner?.reaches(tool)) {
        if (!refused.has(tool) && refused.size < 100)
          emit({ type: 'capability_refused', data: { call, capability: 'tools', tool } })
        refused.add(tool)
        throw failed(
          `not granted: the tool ${tool} (there is none of this name here; a plugin's code has ` +
            'those of its uses_tools in plugin.yaml that are enabled)',
        )
      }
      const result = await inner.callTool(tool, toInput(given), labels?.label())
      if (result.ok) return toJson(result.output)
      const { message, transient = false } = result.error
      throw failed(headOf(`${tool}: ${message}`, maxMessageChars), transient)
    },
  }
}

function toInput(given: unknown): JsonObject {
  const input = toJson(given)
  if (isFields(input)) return input as JsonObject
  throw failed('tools.call(name, input): input is an object')
}
