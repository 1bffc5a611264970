/** A server as `GET /api/operator/mcp/:server` has it, for a terminal. */
export function viewOf(view: object): string
declare const mcp: {
  readonly verbs: { readonly approve: { readonly run: (given: object) => Promise<void> } }
}
export default mcp
