/**
 * A remote server's claim about its tool, by the specification: a tool that claims neither to only read nor to
 * destroy nothing may destroy (`presumed`).
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `destructiveHint` is true
 */
export function remoteToolDestroys(annotations: unknown): boolean | 'presumed' {
  const { destructiveHint, readOnlyHint } = Object(annotations) as {
    readonly destructiveHint?: unknown
    readonly readOnlyHint?: unknown
  }
  if (typeof destructiveHint === 'boolean') return destructiveHint
  return readOnlyHint === true ? false : 'presumed'
}
