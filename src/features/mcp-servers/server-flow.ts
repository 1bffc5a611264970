import type { NamedPlace } from '#contracts/destination.ts'
import { labelFrom, type Label, type Sink } from '#contracts/label.ts'
import type { McpItem, McpPin } from '#runtime/catalog/types/mcp.ts'

/** What a server's tool does outward, where that goes, and what its results can be. */
export interface ServerFlow {
  readonly sinks: readonly Sink[]
  readonly goesTo: () => NamedPlace
  readonly yields: Label
}

/**
 * By the specification: a tool that does not say otherwise reaches an open world, and changes something there. What it
 * says in its own favour counts only where the operator confirmed it at its approval; that its world is closed also
 * where they said so themselves.
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
  // What says itself that its world is open may pass on what it is given: its server is not the end of it.
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

/** Words, as a path of a server has them that is everybody's: `/v2/mcp`. What opens a server has digits in it, or is long. */
const words = /^(\/(v\d{1,2}|[a-z]{1,20}([-_.][a-z]{1,20}){0,2})?)*$/i

/** Whether a server's texts are public: a request needs no credential, in the address neither. */
function isPublic({ url: text, auth, headers }: McpPin['config']): boolean {
  const { pathname, search, username, password } = new URL(text)
  const isBare = `${search}${username}${password}` === '' && words.test(pathname)
  return auth === 'headers' && Object.keys(headers).length === 0 && isBare
}
