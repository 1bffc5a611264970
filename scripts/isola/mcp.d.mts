declare const mcp: {
  readonly verbs: { readonly approve: { readonly run: (given: object) => Promise<void> } }
}
export default mcp
