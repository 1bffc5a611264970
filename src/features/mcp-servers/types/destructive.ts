/**
 * What a remote server says of a tool of its, by its specification: one that says neither that it only reads nor that it
 * destroys nothing may destroy (`presumed`).
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
