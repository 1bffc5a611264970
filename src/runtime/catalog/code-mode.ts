import type { JsonObject } from '#contracts/json.ts'
import { unlimited } from '#contracts/lease.ts'
import type { ToolEntry } from '#contracts/tool.ts'

/**
 * At most so many tool names are read out of one code. Code that calls more tools in a loop has found them by name
 * before.
 */
const maxNames = 50

const description =
  'Run the body of an async JavaScript function that calls your tools as their signatures say. `return` what you need of it as JSON, no more; `console.log` is answered too. A failed call throws. Nothing is kept between runs. For one call alone, and for one that somebody has to approve (it is refused in code), give `name` and `input` in place of `code`.'
const example =
  'For example: const [a, b] = await Promise.all([tools.kv.get({ key: "a" }), tools.kv.get({ key: "b" })]); return a.value + b.value'

/**
 * The tool that runs a model's code for an agent in code mode. The code's bridge reaches every tool that the agent may
 * call, through the same gates. A single call is made without code, under the called tool's own name.
 * @see docs/decisions/0090-code-mode.md
 */
export function toCodeTool({ tool, ...entry }: ToolEntry): ToolEntry {
  const { code, ...others } = Object(tool.inputSchema.properties) as JsonObject
  return {
    ...entry,
    tool: {
      ...tool,
      description,
      inputSchema: {
        type: 'object',
        properties: {
          code: { ...Object(code), description: example },
          ...others,
          name: { type: 'string', description: 'In place of code: the tool, such as kv__get.' },
          input: { type: 'object', description: 'The input of that tool.' },
        },
        additionalProperties: false,
      },
    },
    inner: { resolve: 'agent', children: 0 },
    // The calls of the code are calls of the agent, so its lease is the limit.
    ...(entry.spends && { spends: { ...entry.spends, maxToolCalls: unlimited } }),
    definitionHash: `${entry.definitionHash}:code mode`,
  }
}

/** Full names of the tools that code calls, as far as it says them: `tools.kv.get`, `tools["web-search"].search`, `"kv__get"`. */
export function namesIn(code: string): readonly string[] {
  const part = String.raw`(?:\.([A-Za-z_$][\w$]*)|\[\s*["'\`]([\w-]+)["'\`]\s*\])`
  const taken = code.matchAll(new RegExp(String.raw`\btools${part}${part}`, 'g'))
  const said = code.matchAll(/["'`](?=[\w-]+__[\w-])([\w-]+)["'`]/g)
  const names = [
    ...[...taken].map(([, a, b, c, d]) => `${a ?? b}__${c ?? d}`),
    ...[...said].map(([, name = '']) => name),
  ]
  return [...new Set(names)].slice(0, maxNames)
}
