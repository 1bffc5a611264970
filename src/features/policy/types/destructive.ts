/**
 * A hint of being destructive counts from any plugin, trusted or not; so does a grant to write to the operator's
 * database.
 */
export const toolDestroys = (
  hints: {
    readonly destructiveHint?: boolean | undefined
    readonly readOnlyHint?: boolean | undefined
  },
  grants: { readonly database?: { readonly access: string } | undefined },
): boolean =>
  hints.destructiveHint === true ||
  (grants.database?.access === 'write' && hints.readOnlyHint !== true)
