import { shortened } from '#contracts/cut.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { BuildSearchIndex, SearchHit, SearchIndex } from '#contracts/search.ts'
import type { AgentSkills, IsThere, MoreTools } from './types/skill.ts'
import type { DeniedTools } from '#runtime/kernel/types/policy.ts'
import type { Tool, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { splitExclusions } from './search/read-document.ts'
import { toSignature } from './signatures.ts'
import { createLoadSkill, createPresence } from './skill-tool.ts'
import { toToolDocument } from './tool-document.ts'

/** Names that begin so are ours. */
export const corePrefix = 'isola__'
/** The tool that finds tools. */
export const findName = `${corePrefix}find`
/** The tool that calls a found tool under that tool's own name. */
export const callName = `${corePrefix}call`

const maxDescriptionChars = 160
const defaultFound = 8
const maxFound = 20
/** The most private tools in a result, besides the shared ones. */
const maxOwn = 3
const maxQueries = 8
/** Words of a query that the record has of one tool. */
const maxMatched = 8

export interface CoreToolsDeps {
  readonly buildIndex: BuildSearchIndex
  /** Tools outside the set that can be found and called. */
  readonly beyond?: MoreTools | undefined
  /** Found with the tools, and loaded by their name; without them nothing is said of skills. */
  readonly skills?: AgentSkills | undefined
  /** The tools that the policy denies to the agent: a model is not shown them. */
  readonly deniedOf?: DeniedTools | undefined
  /** Runs code that calls the found tools: then `isola__find` answers signatures. */
  readonly code?: ToolEntry | undefined
}

/**
 * The tools through which an agent reaches everything that is not pinned (docs/design.md section 7). They are all
 * of the prompt that the rest takes, however many tools and skills are installed.
 *
 * @param reach All tools of the agent, pinned ones included.
 */
export function createCoreTools(
  reach: readonly ToolEntry[],
  deps: CoreToolsDeps,
): readonly ToolEntry[] {
  const { skills, beyond, code } = deps
  const isThere = createPresence(code ? [...reach, code] : reach, beyond)
  const find = toEntry(createFind(reach, { ...deps, isThere }), 'repeatable')
  const load = skills && createLoadSkill(skills, isThere)
  const call = code ?? toEntry(callTool, 'effectful')
  return [find, call, ...(load ? [toEntry(load, 'repeatable')] : [])]
}

function toEntry(tool: Tool, kind: 'repeatable' | 'effectful'): ToolEntry {
  const isReadOnly = kind === 'repeatable'
  return {
    tool,
    isReadOnly,
    isIdempotent: isReadOnly,
    // The result labels the words of tools and skills itself.
    sinks: [],
    yields: ownLabel,
    timeoutMs: 10_000,
    definitionHash: `core:1:${tool.name}`,
    record: { plugin: 'isola' },
  }
}

/**
 * The best of the principal's private tools, besides the shared ones. A failed look-up does not hide the shared tools.
 */
async function findOwn(
  queries: readonly string[],
  principal: string,
  { beyond, buildIndex }: CoreToolsDeps,
) {
  const entries = (await beyond?.own?.(principal).catch(() => [])) ?? []
  if (entries.length === 0) return []
  const byName = new Map(entries.map((entry) => [entry.tool.name, entry]))
  const hits = buildIndex(entries.map(({ tool }) => toToolDocument(tool))).search(queries, maxOwn)
  return hits.flatMap((hit) => {
    const entry = byName.get(hit.id)
    return entry ? [{ hit, entry }] : []
  })
}

function createFind(
  reach: readonly ToolEntry[],
  deps: CoreToolsDeps & { readonly isThere: IsThere },
): Tool {
  const { buildIndex, beyond, skills, deniedOf, code, isThere } = deps
  const entries = new Map(reach.map((entry) => [entry.tool.name, entry]))
  let index: SearchIndex | undefined
  /** Searches the set alone: used where there is no catalog, or none can be reached. */
  const searchHere = (queries: readonly string[], limit: number): readonly SearchHit[] => {
    // Built at the first search: most sessions need none.
    index ??= buildIndex([...entries.values()].map(({ tool }) => toToolDocument(tool)))
    return index.search(queries, limit)
  }
  const searchAll = async (queries: readonly string[], limit: number): Promise<Searched> => {
    if (!beyond) return { hits: searchHere(queries, limit) }
    try {
      const hits = await beyond.search(queries, limit)
      await beyond.ready(hits.map(({ id }) => id).filter((name) => !entries.has(name)))
      return { hits }
    } catch {
      return { hits: searchHere(queries, limit), isPartial: true }
    }
  }
  return {
    name: findName,
    description:
      `Find installed tools${skills ? ', agents and skills' : ' and agents'} by what they do. Give ` +
      `several short queries, one for each step of the task. Call what you find with ${code?.tool.name ?? callName}.`,
    inputSchema: {
      type: 'object',
      properties: {
        queries: {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 500 },
          minItems: 1,
          maxItems: maxQueries,
          description: 'Short phrases such as "send e-mail"; hits of all are merged.',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxFound,
          description: `How many to answer, ${defaultFound} by default.`,
        },
      },
      required: ['queries'],
      additionalProperties: false,
    },
    execute: async (input, context) => {
      const [queries, limit] = [parseQueries(input.queries), parseLimit(input.limit)]
      // If skills cannot be read, the tools are found all the same.
      const fitting = skills?.find(queries, isThere).catch(() => [])
      const { hits, ...how } = await searchAll(queries, limit)
      const own = await findOwn(queries, context.principal, deps)
      const there = hits
        .filter(({ id }) => id !== code?.tool.name)
        .flatMap(({ id }) => entries.get(id) ?? beyond?.entry(id) ?? [])
        .concat(own.map(({ entry }) => entry))
      const withheld = new Set(await deniedOf?.(there, context))
      const found = there.filter(({ tool }) => !withheld.has(tool.name))
      const shows = found.map(({ tool, definitionHash }) => [tool.name, definitionHash] as const)
      const tools = code
        ? found.map(({ tool }) => toSignature(tool)).join('\n')
        : found.map(({ tool }) => describe(tool))
      const skillsFound = (await fitting) ?? []
      const fit = skillsFound.map(({ name, description }) => ({ name, description }))
      const output = { tools, ...(fit.length > 0 && { skills: fit }) }
      const named = new Set(found.map(({ tool }) => tool.name))
      context.emit({
        type: 'tools_found',
        data: {
          call: context.call,
          found: [...hits, ...own.map(({ hit }) => hit)]
            .filter(({ id }) => named.has(id))
            .map(toReason),
          ...(fit.length > 0 && { skills: fit.map(({ name }) => name) }),
          ...(withheld.size > 0 && { withheld: [...withheld] }),
          ...how,
        },
      })
      const label = joinLabels([
        ...skillsFound.map((one) => one.label ?? ownLabel),
        ...found.map((one) => one.toldLabel ?? ownLabel),
      ])
      return { ok: true, output, label, shows: Object.fromEntries(shows) }
    },
  }
}

interface Searched {
  readonly hits: readonly SearchHit[]
  readonly isPartial?: true
}

/** The reason for a hit, for the record: only those words of the query that the tool's own text has as well. */
const toReason = ({ id: tool, score, matched }: SearchHit) => ({
  tool,
  ...(score > 0 && { score: Math.round(score * 100) / 100 }),
  ...(matched.length > 0 && { matched: matched.slice(0, maxMatched) }),
})

function parseQueries(value: Json | undefined): readonly string[] {
  return Array.isArray(value)
    ? value.filter((query) => typeof query === 'string').slice(0, maxQueries)
    : []
}

function parseLimit(value: Json | undefined): number {
  return typeof value === 'number'
    ? Math.min(Math.max(Math.floor(value), 1), maxFound)
    : defaultFound
}

function describe({ name, description, inputSchema }: Tool): JsonObject {
  const { positive, excluded } = splitExclusions(description)
  return {
    id: name,
    description: toShort(positive.trim()),
    ...(excluded !== '' && { not_for: toShort(excluded.trim()) }),
    input_schema: inputSchema,
  }
}

const toShort = (text: string): string => shortened(text, maxDescriptionChars)

/** A name that stands for another tool: the toolset resolves it, so that the inner one passes the gates itself. */
const callTool: Tool = {
  name: callName,
  description:
    'Call a tool or agent that isola__find named, with the input its input_schema asks for.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The id that isola__find answered, such as kv__get.' },
      input: { type: 'object', description: 'The input of that tool.' },
    },
    required: ['name', 'input'],
    additionalProperties: false,
  },
  execute: async (): Promise<ToolResult> => ({
    ok: false,
    error: { code: 'tool_not_found', message: 'isola__call needs the name of another tool.' },
  }),
}
