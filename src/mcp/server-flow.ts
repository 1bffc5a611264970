import { labelFrom, type Label, type Sink } from '#contracts/label.ts'
import type { McpItem, McpPin } from '#contracts/mcp.ts'

/**
 * What a server's tool does outward and what its results can be, by the specification: one that does not say otherwise
 * reaches an open world, and changes something there. That its world is closed counts only where the operator said so,
 * at its approval, or confirmed what the server says.
 *
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `openWorldHint` is true, that of
 * `readOnlyHint` false
 */
export function flowOf(
  { config, confirmed }: Pick<McpPin, 'config' | 'confirmed'>,
  { kind, key, definition, isClosedWorld, isHarmless }: McpItem,
  name: string,
): { readonly sinks: readonly Sink[]; readonly yields: Label } {
  const hints = Object(definition['annotations']) as Readonly<Record<string, unknown>>
  const isConfirmed = kind === 'tool' && confirmed.includes(key) && hints['openWorldHint'] === false
  const isOpen = !isClosedWorld && !isConfirmed
  // A resource or a prompt is read. What a tool says of itself here was shown when it was approved, and is pinned.
  const onlyReads = kind !== 'tool' || hints['readOnlyHint'] === true || isHarmless === true
  // Where nobody has to say who they are, everybody may read it.
  const isPublic = config.auth === 'headers' && Object.keys(config.headers).length === 0
  const confidentiality = isPublic ? 'public' : 'private'
  const closed = isPublic
    ? ({ integrity: 'tool', confidentiality, sources: [] } as const)
    : labelFrom(name, { integrity: 'tool' })
  return {
    sinks: [...(isOpen ? (['egress'] as const) : []), ...(onlyReads ? [] : (['write'] as const))],
    yields: isOpen ? labelFrom(name, { confidentiality }) : closed,
  }
}
