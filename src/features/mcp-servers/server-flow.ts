import type { NamedPlace } from '#contracts/destination.ts'
import { labelFrom, type Label, type Sink } from '#contracts/label.ts'
import type { McpItem, McpPin } from '#runtime/catalog/types/mcp.ts'

/** The effects of a server's tool, its destination, and the label of its results. */
export interface ServerFlow {
  readonly sinks: readonly Sink[]
  readonly goesTo: () => NamedPlace
  readonly yields: Label
}

/**
 * By the specification: a tool without hints reaches an open world, and changes something there. A claim in the
 * server's own favour counts only where the operator confirmed it at its approval; a closed world counts also where
 * the operator said so.
 *
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `openWorldHint` is true, that of
 * `readOnlyHint` false
 */
export function flowOf(
  { config, confirmed }: Pick<McpPin, 'config' | 'confirmed'>,
  { kind, key, definition, isClosedWorld }: McpItem,
  name: string,
): ServerFlow {
  const hints = Object(definition['annotations']) as Readonly<Record<string, unknown>>
  const isConfirmed = kind === 'tool' && confirmed.includes(key)
  const isOpen = !isClosedWorld && !(isConfirmed && hints['openWorldHint'] === false)
  // A resource or a prompt is read.
  const onlyReads = kind !== 'tool' || (isConfirmed && hints['readOnlyHint'] === true)
  // A tool with an open world may pass on its input: its server is not the last receiver.
  const isHome = onlyReads && hints['openWorldHint'] !== true
  const { origin } = new URL(config.url)
  const place = { origin, ...(isHome && { home: `${config.id}__*` }) }
  const confidentiality = isPublic(config) ? 'public' : 'private'
  const closed =
    confidentiality === 'public'
      ? ({ integrity: 'tool', confidentiality, sources: [] } as const)
      : labelFrom(name, { integrity: 'tool' })
  return {
    sinks: [...(isOpen ? (['egress'] as const) : []), ...(onlyReads ? [] : (['write'] as const))],
    goesTo: () => place,
    yields: isOpen ? labelFrom(name, { confidentiality }) : closed,
  }
}

/** The path of a public server: `/v2/mcp`. A path that opens a server has digits in it, or is long. */
const words = /^(\/(v\d{1,2}|[a-z]{1,20}([-_.][a-z]{1,20}){0,2})?)*$/i

/** Whether a server's texts are public: a request needs no credential, in the address neither. */
function isPublic({ url: text, auth, headers }: McpPin['config']): boolean {
  const { pathname, search, username, password } = new URL(text)
  const isBare = `${search}${username}${password}` === '' && words.test(pathname)
  return auth === 'headers' && Object.keys(headers).length === 0 && isBare
}
