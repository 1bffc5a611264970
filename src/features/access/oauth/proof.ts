import * as z from 'zod'

/**
 * How the principal of a grant proved itself. Sealed into each token, and checked anew with each request: a key by
 * its id, the operator key by a mark that only this key yields, a person by the list in the settings.
 */
const proof = z.strictObject({
  grant: z.string(),
  by: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('key'), key: z.string() }),
    z.strictObject({ kind: z.literal('operator'), mark: z.string() }),
    z.strictObject({
      kind: z.literal('person'),
      issuer: z.string(),
      subject: z.string(),
      email: z.string().optional(),
    }),
  ]),
})

/** The content of a token: the grant behind it, and the key or person that signed in. */
export type Proof = z.infer<typeof proof>

/** `undefined` for anything else: a token in another version's form opens nothing. */
export function parseProof(value: unknown): Proof | undefined {
  return proof.safeParse(value).data
}

/** In the form of the table's column. */
export function signedInWith({ by }: Proof): string {
  switch (by.kind) {
    case 'key':
      return by.key
    case 'operator':
      return 'operator'
    case 'person':
      return `oidc:${by.subject}`
  }
}
