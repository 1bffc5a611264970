import { fieldsOf } from './types.ts'
import { type JsonObject, toCanonicalJson } from '#contracts/json.ts'
import type { McpItem, McpItemKind, McpListing } from '#runtime/catalog/types/mcp.ts'
import { listingCaps, whyRefused } from './definition-checks.ts'
import { readDefinition } from './read-definition.ts'

/** So long may a tool's own part of `<server>__<tool>` be. */
const maxChars = 36
const hashChars = 8
/** The two tools that every server has of ours. */
const reserved: ReadonlySet<string> = new Set(['read_resource', 'get_prompt'])
const safeForm = /^[A-Za-z0-9_-]{1,36}$/

/**
 * The name of a remote tool here. A short and plain name stays; any other gets a readable stem and a piece of the
 * hash of the whole name, so that it is the same each time and two never meet.
 */
function toToolName(remote: string, sha256: (text: string) => string): string {
  if (safeForm.test(remote) && !reserved.has(remote)) return remote
  const stem = remote
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, maxChars - hashChars - 1)
  const tail = sha256(remote).slice(0, hashChars)
  return stem === '' ? `tool_${tail}` : `${stem}_${tail}`
}

/** Two names with one skeleton are easily taken for each other. */
function skeleton(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\u0400-\u04ff\u0370-\u03ff]/g, (char) => lookAlikes[char] ?? char)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('0', 'o')
    .replace(/[1i|]/g, 'l')
    .replaceAll('5', 's')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

/** Letters of other alphabets that look like Latin ones. */
const lookAlikes: Readonly<Record<string, string>> = {
  а: 'a', е: 'e', о: 'o', р: 'p', с: 'c', у: 'y', х: 'x', і: 'i', ј: 'j', ѕ: 's', һ: 'h', ԁ: 'd', к: 'k',
  м: 'm', т: 't', в: 'b', н: 'h', α: 'a', ο: 'o', ρ: 'p', ν: 'v', ι: 'i', κ: 'k', τ: 't', υ: 'u', ε: 'e',
} // prettier-ignore

/** A server's lists, unchecked. */
export interface RawListing {
  readonly server: { readonly name: string; readonly version: string }
  readonly instructions?: string
  readonly entries: readonly { readonly kind: McpItemKind; readonly value: unknown }[]
  /** One sentence for each entry that the reader left out. */
  readonly notes: readonly string[]
}

/** A source of hashes and of the time. */
interface ListingDeps {
  readonly sha256: (text: string) => string
  readonly nowMs: () => number
}

const keyField: Readonly<Record<McpItemKind, string>> = {
  tool: 'name',
  resource: 'uri',
  template: 'uriTemplate',
  prompt: 'name',
  instructions: 'key',
}

/**
 * Sorts a server's lists into entries that may be approved and entries that may not, each with its hash. Never
 * throws.
 */
export function toListing(raw: RawListing, deps: ListingDeps): McpListing {
  const items = new Map<string, McpItem>()
  const refused: { kind: McpItemKind; key: string; why: string }[] = []
  const notes = [...raw.notes]
  const tools = new Map<string, string>()
  const instructions =
    raw.instructions === undefined
      ? []
      : [{ kind: 'instructions' as const, value: { key: 'instructions', text: raw.instructions } }]
  const counts = new Map<McpItemKind, number>()
  for (const { kind, value } of [...instructions, ...raw.entries]) {
    const place = (counts.get(kind) ?? 0) + 1
    counts.set(kind, place)
    const key = keyOf(kind, value)
    const made = key === undefined ? whyNameless(kind, value) : toItem(kind, key, value, deps)
    const taken = typeof made === 'string' ? undefined : nameProblem(made, { items, tools })
    if (typeof made === 'string' || taken !== undefined || key === undefined) {
      const why = taken ?? String(made)
      refused.push({ kind, key: shown(key ?? calledOtherwise(kind, value, place)), why })
      continue
    }
    items.set(`${kind} ${key}`, made)
    if (made.tool !== undefined) tools.set(made.tool, key)
    if (kind === 'tool' && fieldsOf(value)['inputSchema'] === undefined)
      notes.push(`"${shown(key)}" has no inputSchema: any arguments are taken.`)
    if (made.tool !== undefined && made.tool !== made.key)
      notes.push(`"${shown(made.key)}" is called ${made.tool} here.`)
  }
  const all = [...items.values()]
  const hash = deps.sha256(toCanonicalJson(all.map((one) => one.hash).toSorted()))
  return { server: raw.server, items: all, refused, notes, hash, atMs: deps.nowMs() }
}

function keyOf(kind: McpItemKind, value: unknown): string | undefined {
  const key = fieldsOf(value)[keyField[kind]]
  const maxChars =
    kind === 'resource' || kind === 'template' ? listingCaps.maxUriChars : listingCaps.maxNameChars
  return typeof key === 'string' && key !== '' && key.length <= maxChars ? key : undefined
}

const whyNameless = (kind: McpItemKind, value: unknown): string => {
  const key = fieldsOf(value)[keyField[kind]]
  return key === undefined || typeof key === 'string'
    ? 'has no name that can be used'
    : `its ${keyField[kind]} is not a text`
}

/** A name for an entry without one: another of its fields, or its place in the list. */
function calledOtherwise(kind: McpItemKind, value: unknown, place: number): string {
  const { [keyField[kind]]: key, name = key, title = name } = fieldsOf(value)
  const said = key ?? name ?? title
  if (said === undefined || said === '') return `(entry ${place})`
  return typeof said === 'string' ? said : JSON.stringify(said)
}

/** The item, or why it cannot be one. */
function toItem(
  kind: McpItemKind,
  key: string,
  value: unknown,
  { sha256 }: ListingDeps,
): McpItem | string {
  try {
    const definition = readDefinition(kind, value)
    if (typeof definition === 'string') return definition
    const why = whyRefused(definition)
    if (why !== undefined) return why
    return {
      kind,
      key,
      ...(kind === 'tool' && { tool: toToolName(key, sha256) }),
      definition,
      hash: hashOf({ kind, key, definition }, sha256),
    }
  } catch {
    // Nested so deeply that it cannot even be read.
    return 'cannot be read'
  }
}

/** The pinned hash: a change of any byte changes it. */
export const hashOf = (
  { kind, key, definition }: Pick<McpItem, 'kind' | 'key'> & { readonly definition: JsonObject },
  sha256: (text: string) => string,
): string => sha256(toCanonicalJson({ kind, key, definition }))

function nameProblem(
  { kind, key, tool }: McpItem,
  {
    items,
    tools,
  }: { readonly items: ReadonlyMap<string, McpItem>; readonly tools: ReadonlyMap<string, string> },
): string | undefined {
  if (items.has(`${kind} ${key}`)) return 'is there twice: only the first counts'
  if (tool !== undefined && tools.has(tool))
    return `would have the name of "${shown(tools.get(tool) ?? '')}"`
  if (items.size >= listingCaps.maxItems) return `is more than ${listingCaps.maxItems}`
  return undefined
}

/** Tools of a server that are easily taken for one that is here already. @param known Full names, `<owner>__<tool>`. */
export function lookAlikeNotes(
  { items }: Pick<McpListing, 'items'>,
  server: string,
  known: readonly string[],
): readonly string[] {
  const others = new Map(
    known
      .filter((name) => !name.startsWith(`${server}__`))
      .map((name) => [skeleton(name.slice(name.indexOf('__') + 2)), name] as const),
  )
  return items.flatMap(({ kind, key }) => {
    const twin = kind === 'tool' ? others.get(skeleton(key)) : undefined
    return twin === undefined
      ? []
      : [`"${shown(key)}" looks like the tool ${twin}, which is not this server's.`]
  })
}

/** A name of theirs in a line of ours: short, and in characters that are what they look like. */
export const shown = (text: string): string =>
  text
    .slice(0, 80)
    .replace(/[^\x20-\x7e]/g, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
