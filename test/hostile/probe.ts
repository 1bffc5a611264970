import type { EventDraft } from '#contracts/event.ts'
import type { Json } from '#contracts/json.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { Folder } from '../fakes/isolates.ts'

/** One attack by a plugin's author. */
export interface Probe {
  readonly name: string
  /** The body of its one tool, `async (input, can) => { … }`; `tried` is there. */
  readonly body?: string
  /** The whole module instead. */
  readonly module?: string
  readonly grants?: Json
  /** The outcome that the host must come to. */
  readonly expect: (outcome: Outcome) => void
}

export interface Outcome {
  readonly result: ToolResult
  readonly events: readonly EventDraft[]
}

/** Says whether an attack worked, and in which words it was refused. */
const tried = `const tried = async (attack) => {
  try { return ['ESCAPED', String(await attack()).slice(0, 300)] }
  catch (error) { return ['refused', String(error?.message ?? error).slice(0, 300)] }
}`

const hash = (text: string): string => {
  let sum = 0
  for (const char of text) sum = (sum * 31 + char.charCodeAt(0)) % 2 ** 40
  return sum.toString(16).padStart(64, '0')
}

/** The plugin folder of a probe, all of them with one tool `go`. */
export function toFolder({ name, body = '', module, grants = { storage: '1mb' } }: Probe): Folder {
  const code =
    module ??
    `${tried}
export default (...given) => ({ tools: { async go(input, can) {
${body}
} } })`
  const manifest = {
    id: 'probe',
    name: 'Probe',
    version: '1.0.0',
    description: 'An attack.',
    entrypoint: 'main.js',
    contributes: {
      tools: [{ name: 'go', description: 'Attacks.', input_schema: {}, timeout_ms: 500 }],
    },
    grants,
  }
  return { manifest, code, hash: hash(`${name}:${code}`) }
}
