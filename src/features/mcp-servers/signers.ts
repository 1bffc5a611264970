import type { McpSigner } from '#runtime/catalog/types/mcp-sign-in.ts'
import type { LinkStore } from './kept-values.ts'

/** The store of a server's own object, and a source of texts that cannot be guessed. */
export interface SignersDeps {
  readonly store: LinkStore & {
    readonly list: (options: { readonly prefix: string }) => Iterable<[string, unknown]>
  }
  readonly secret: () => string
}

const prefix = 'signer '

/**
 * The principals that have an object of their own at a server: all that began to sign in, so that a removal of the
 * server finds them. The reference that a browser's address shows says nothing of who the principal is.
 */
export function createSigners({ store, secret }: SignersDeps) {
  const all = (): readonly McpSigner[] =>
    // Whatever has this prefix was put in below, by this code.
    [...store.list({ prefix })].map(([key, principal]) => ({
      ref: key.slice(prefix.length),
      principal: principal as string,
    }))
  const find = (principal: string) => all().find((one) => one.principal === principal)
  return {
    all,
    add(principal: string): McpSigner {
      const known = find(principal)
      if (known) return known
      const signer = { ref: secret(), principal }
      store.put(`${prefix}${signer.ref}`, principal)
      return signer
    },
    remove(principal: string): void {
      const known = find(principal)
      if (known) store.delete(`${prefix}${known.ref}`)
    },
  }
}
