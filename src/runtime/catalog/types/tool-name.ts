/** The owner of a tool: every tool's name begins with its owner's id (`kv` of `kv__set`). */
export const ownerOf = (tool: string): string => tool.split('__', 1)[0] ?? tool
