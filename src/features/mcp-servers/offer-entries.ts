import { headOf } from '#contracts/cut.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { McpCall, McpItem, McpPin } from '#runtime/catalog/types/mcp.ts'
import type { Offers, PromptListing, ResourceListing } from '#contracts/manifest/manifest-offers.ts'
import type { ToolContext, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { callServer, extraMs, spendingOf, type EntryDeps, flowOf } from './server-entries.ts'

/**
 * Whether a URI fits a template (RFC 6570): its fixed parts in their order, with text in between. No template becomes
 * a regular expression. The server decides about the URI itself.
 */
export function fitsTemplate(uri: string, template: string): boolean {
  const fixed = template.split(/\{[^{}]*\}/)
  const [first = '', ...rest] = fixed
  const last = rest.pop()
  if (last === undefined) return uri === first
  if (!uri.startsWith(first) || !uri.endsWith(last)) return false
  let at = first.length
  const end = uri.length - last.length
  for (const part of rest) {
    const found = part === '' ? at : uri.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return at <= end
}

const maxListed = 40
const maxLineChars = 160

/** The two tools for what is no tool: they reach exactly what was approved of resources and prompts. */
export function toOfferEntries(
  pin: McpPin,
  items: readonly McpItem[],
  deps: EntryDeps,
): readonly ToolEntry[] {
  const resources = items.filter(({ kind }) => kind === 'resource' || kind === 'template')
  const prompts = items.filter(({ kind }) => kind === 'prompt')
  return [
    ...(resources.length > 0 ? [toReadResource(pin, resources, deps)] : []),
    ...(prompts.length > 0 ? [toGetPrompt(pin, prompts, deps)] : []),
  ]
}

function toReadResource(pin: McpPin, items: readonly McpItem[], deps: EntryDeps): ToolEntry {
  const find = (uri: string) =>
    items.find(({ kind, key }) => kind === 'resource' && key === uri) ??
    items.find(({ kind, key }) => kind === 'template' && fitsTemplate(uri, key))
  return toOfferEntry({
    pin,
    deps,
    items,
    tool: 'read_resource',
    about: `Reads a resource of the MCP server ${pin.id}. There are:`,
    properties: { uri: { type: 'string', minLength: 1, maxLength: 2_048 } },
    required: ['uri'],
    toAsk: ({ uri }) => {
      const item = find(String(uri))
      return item && { item, ask: { do: 'resource', uri: String(uri) } }
    },
  })
}

function toGetPrompt(pin: McpPin, items: readonly McpItem[], deps: EntryDeps): ToolEntry {
  return toOfferEntry({
    pin,
    deps,
    items,
    tool: 'get_prompt',
    about: `Gets a prompt of the MCP server ${pin.id}, with its arguments filled in. There are:`,
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 200 },
      arguments: { type: 'object', additionalProperties: { type: 'string' } },
    },
    required: ['name'],
    toAsk: ({ name, arguments: given }) => {
      const item = items.find(({ key }) => key === name)
      // The schema has checked that they are texts.
      const values = Object(given) as Readonly<Record<string, string>>
      return item && { item, ask: { do: 'prompt', arguments: values } }
    },
  })
}

interface Offer {
  readonly pin: McpPin
  readonly deps: EntryDeps
  readonly items: readonly McpItem[]
  readonly tool: string
  readonly about: string
  readonly properties: JsonObject
  readonly required: readonly string[]
  readonly toAsk: (
    input: JsonObject,
  ) => { readonly item: McpItem; readonly ask: McpCall['ask'] } | undefined
}

function toOfferEntry({
  pin,
  deps,
  items,
  tool,
  about,
  properties,
  required,
  toAsk,
}: Offer): ToolEntry {
  const name = `${pin.id}__${tool}`
  const execute = async (input: JsonObject, context: ToolContext): Promise<ToolResult> => {
    const found = toAsk(input)
    if (found) return callServer({ name, pin, deps, ...found }, context)
    const message = `The MCP server ${pin.id} has nothing of that name that is approved.`
    return { ok: false, error: { code: 'tool_failed', message } }
  }
  return {
    tool: {
      name,
      description: [about, ...lines(items)].join('\n'),
      inputSchema: { type: 'object', properties, required, additionalProperties: false },
      execute,
    },
    isReadOnly: false,
    isIdempotent: false,
    ...flowOf(pin, items[0]!, name),
    timeoutMs: pin.config.timeoutMs + extraMs,
    ...spendingOf(pin.config),
    definitionHash: deps.sha256(items.map(({ hash }) => hash).join(' ')),
    record: { server: pin.id, tier: 'mcp' },
  }
}

function lines(items: readonly McpItem[]): readonly string[] {
  const all = items.map(({ key, definition: { description } }) =>
    headOf(
      `- ${key}${typeof description === 'string' ? `: ${description}` : ''}`.replace(/\s+/g, ' '),
      maxLineChars,
    ),
  )
  return all.length > maxListed
    ? [...all.slice(0, maxListed), `… and ${all.length - maxListed} more`]
    : all
}

/** The approved resources and prompts, listed without a request to the server. */
export function toOffers(owner: string, items: readonly McpItem[]): Offers {
  return {
    resources: items.flatMap((item) => toResource(owner, item)),
    prompts: items.flatMap((item) => toPrompt(owner, item)),
  }
}

const texts = (definition: JsonObject, fields: readonly string[]) =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = definition[field]
      return typeof value === 'string' ? [[field, value] as const] : []
    }),
  )

function toResource(owner: string, { kind, key, definition }: McpItem): readonly ResourceListing[] {
  if (kind !== 'resource' && kind !== 'template') return []
  const about = texts(definition, ['title', 'description', 'mimeType'])
  const { name = key } = texts(definition, ['name'])
  return [{ owner, uri: key, isTemplate: kind === 'template', name, ...about }]
}

function toPrompt(owner: string, { kind, key, definition }: McpItem): readonly PromptListing[] {
  if (kind !== 'prompt') return []
  const given = definition['arguments']
  const list: readonly Json[] = Array.isArray(given) ? given : []
  const named = list.flatMap((one) => {
    const { name, required } = Object(one) as JsonObject
    if (typeof name !== 'string') return []
    const about = texts(Object(one) as JsonObject, ['description'])
    return [{ name, ...about, ...(required === true && { required: true }) }]
  })
  return [{ owner, name: key, ...texts(definition, ['title', 'description']), arguments: named }]
}
