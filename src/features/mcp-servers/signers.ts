import type { McpSigner } from '#runtime/catalog/types/mcp-sign-in.ts'
import type { LinkStore } from './kept-values.ts'

/** The store of a server's own object, and texts that nobody can guess. */
export interface SignersDeps {
  readonly store: LinkStore & {
    readonly list: (options: { readonly prefix: string }) => Iterable<[string, unknown]>
  }
  readonly secret: () => string
}

const prefix = 'signer '

/**
 * Which principals have an object of their own at a server: those that began to sign in, so that all of them are found
 * when the server is removed. What stands for one in a browser's address says nothing of who it is.
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
