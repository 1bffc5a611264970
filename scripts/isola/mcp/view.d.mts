/** A server as `GET /api/operator/mcp/:server` has it, for a terminal. */
export function viewOf(view: object): string
