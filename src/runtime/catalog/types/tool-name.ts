/** Whose a tool of this name is: all of them begin with their owner's id (`kv` of `kv__set`). */
export const ownerOf = (tool: string): string => tool.split('__', 1)[0] ?? tool
