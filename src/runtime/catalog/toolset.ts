import type { JsonObject, Json } from '#contracts/json.ts'
import { unlimited } from '#contracts/lease.ts'
import type { ToolEntry, ResolvedTool, Toolset } from '#contracts/tool.ts'
import { toCallInput } from '#contracts/foreign-json.ts'
import { headOf } from '#contracts/cut.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { DeniedTools } from '#runtime/kernel/types/policy.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type { AgentSkills, MoreTools } from './types/skill.ts'
import { callName, corePrefix, createCoreTools, findName } from './core-tools.ts'

/**
 * At most so many tool names are read out of one code. Code that calls more tools in a loop has found them by name
 * before.
 */
const maxNames = 50

const description =
  'Run the body of an async JavaScript function that calls your tools as their signatures say. `return` what ' +
  'you need of it as JSON, no more; `console.log` is answered too. A failed call throws. Nothing is kept ' +
  'between runs. For one call alone, and for one that somebody has to approve (it is refused in code), give ' +
  '`name` and `input` in place of `code`.'
const example =
  'For example: const [a, b] = await Promise.all([tools.kv.get({ key: "a" }), tools.kv.get({ key: "b" })]); ' +
  'return a.value + b.value'

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

/**
 * Full names of the tools that code calls, as far as it says them: `tools.kv.get`, `tools["web-search"].search`,
 * `"kv__get"`.
 */
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

const maxNameChars = 64

/** Which tools of an agent a model sees from the start. */
export interface ToolsetOptions {
  /** `with-core-tools` adds `isola__find` and `isola__call`, and only the pinned are in the definitions. */
  readonly core: 'with-core-tools' | 'without-core-tools'
  /** Which tools the model sees from the start. All by default. */
  readonly isPinned?: (entry: ToolEntry) => boolean
  readonly buildIndex: BuildSearchIndex
  /** With core tools: the tools outside the set, each looked up when it is named. */
  readonly beyond?: MoreTools | undefined
  /** With core tools: the skills that are found with them; `isola__load_skill` comes with these. */
  readonly skills?: AgentSkills | undefined
  /** With core tools: the found tools that are not shown. */
  readonly deniedOf?: DeniedTools | undefined
  /** Runs code: in place of the pinned the model sees this, and `isola__find` that answers signatures. */
  readonly code?: ToolEntry | undefined
  /** Core tools that the model sees from the start in either case. */
  readonly shown?: readonly ToolEntry[]
  /** Further core tools, after `isola__find` and `isola__call`; without core tools they resolve but are not defined. */
  readonly more?: readonly ToolEntry[]
}

/** A tool that is not in the set, and why. */
export interface ToolsetProblem {
  readonly tool: string
  readonly message: string
}

/** A toolset with what had to be left out of it. */
export interface CheckedToolset extends Toolset {
  readonly problems: readonly ToolsetProblem[]
}

/**
 * The tools of one agent: fixed order, unique names (Y19, N10). The first of two equal names stays; names of the
 * core cannot be taken.
 */
export function createToolset(
  entries: readonly ToolEntry[],
  options: ToolsetOptions,
): CheckedToolset {
  const problems: ToolsetProblem[] = []
  const reach = new Map<string, ToolEntry>()
  for (const entry of entries) {
    const { name } = entry.tool
    const message = refusal(name, reach)
    if (message === undefined) reach.set(name, entry)
    else problems.push({ tool: name, message })
  }
  const code = options.code && toCodeTool(options.code)
  if (code) reach.delete(code.tool.name)
  const isPinned = code ? () => false : (options.isPinned ?? (() => true))
  const pinned = [...reach.values()].filter(isPinned)
  const { shown = [], more = [] } = options
  const isOwn = options.core === 'without-core-tools'
  // An agent finds its own tools only: no tools beyond them, and no skills.
  const { beyond, skills } = isOwn ? {} : options
  const core =
    isOwn && !code ? [] : createCoreTools([...reach.values()], { ...options, beyond, skills, code })
  // The tool for long results is in no agent's definitions, since these are exactly the tools that it may use: a long
  // result names the tool.
  const seen = isOwn ? [...core, ...pinned, ...shown] : [...core, ...more, ...shown, ...pinned]
  const { definitions } = toToolset(seen)
  const label = joinLabels(seen.map((one) => one.toldLabel ?? ownLabel))
  const direct = toToolset([...seen, ...more])
  if (core.length === 0) return { definitions, label, resolve: direct.resolve, problems }
  const find = (name: string) => reach.get(name) ?? beyond?.entry(name)
  /** The name of the tool that a call stands for, if it does. */
  const standsFor = (name: string, input: JsonObject): Json | undefined =>
    (name === callName && !isOwn) || (name === code?.tool.name && 'name' in input)
      ? (input['name'] ?? '')
      : undefined
  let isAway = false
  return {
    definitions,
    label,
    finder: findName,
    ...(beyond && {
      async ready(calls) {
        const wanted = calls.flatMap(({ toolId, input }) => {
          const name = standsFor(toolId, input) ?? toolId
          if (name === code?.tool.name) return namesIn(String(input['code']))
          return typeof name === 'string' ? name : []
        })
        const missing = wanted.filter((name) => !direct.resolve(name, {}) && !find(name))
        isAway = false
        if (missing.length > 0) await beyond.ready(missing).catch(() => (isAway = true))
        return isAway ? 'away' : undefined
      },
    }),
    // A tool that was found may be called by its own name too.
    resolve(name, input) {
      if (standsFor(name, input) !== undefined) return resolveInner(find, input)
      const entry = find(name)
      return direct.resolve(name, input) ?? (entry && { entry, input })
    },
    missing(name, input) {
      const wanted = standsFor(name, input) ?? name
      if (typeof wanted !== 'string' || wanted === '')
        return `${name} needs "name": the id of a tool, as ${findName} answers it.`
      if (direct.resolve(wanted, {})) return `${wanted} is called by its own name.`
      const shown = headOf(wanted, maxNameChars)
      if (isAway)
        return `What is installed cannot be looked up now, nor "${shown}". Try again later.`
      return `There is no tool named "${shown}" here. Look for one with ${findName}.`
    },
    problems,
  }
}

function refusal(name: string, taken: ReadonlyMap<string, ToolEntry>): string | undefined {
  if (name.startsWith(corePrefix)) return `names that begin with ${corePrefix} belong to the core`
  if (taken.has(name)) return 'another tool has this name already'
  return /^[A-Za-z0-9_-]+$/.test(name) && name.length <= maxNameChars
    ? undefined
    : 'is not a valid tool name'
}

/** Tools by their names, with their definitions. */
export function toToolset(entries: readonly ToolEntry[]): Toolset {
  const byName = new Map(entries.map((entry) => [entry.tool.name, entry]))
  return {
    definitions: entries.map(({ tool: { name, description, inputSchema } }) => ({
      name,
      description,
      inputSchema,
    })),
    resolve: (name, input) => {
      const entry = byName.get(name)
      return entry && { entry, input }
    },
  }
}

/** `isola__call` stands for the tool it names; the core tools are not in `reach`, so it cannot name itself. */
function resolveInner(
  find: (name: string) => ToolEntry | undefined,
  { name, input }: JsonObject,
): ResolvedTool | undefined {
  const entry = typeof name === 'string' ? find(name) : undefined
  // Some models send the inner input as a JSON string.
  return entry && { entry, input: toCallInput(input) }
}
