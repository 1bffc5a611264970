/** What a plugin says against itself counts, whoever wrote it; so does leave to write into the operator's database. */
export const toolDestroys = (
  hints: {
    readonly destructiveHint?: boolean | undefined
    readonly readOnlyHint?: boolean | undefined
  },
  grants: { readonly database?: { readonly access: string } | undefined },
): boolean =>
  hints.destructiveHint === true ||
  (grants.database?.access === 'write' && hints.readOnlyHint !== true)
