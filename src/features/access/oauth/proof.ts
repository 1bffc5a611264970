import * as z from 'zod'

/**
 * What a grant rests on. It is sealed into each token, and looked up anew with each request: a key by its id, the
 * operator key by a mark that another key would not have, a person by the list of those who are let in.
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

/** What a token says of its bearer: the grant behind it, and what was signed in with. */
export type Proof = z.infer<typeof proof>

/** `undefined` for what is none: a token of a version that wrote it otherwise opens nothing. */
export function parseProof(value: unknown): Proof | undefined {
  return proof.safeParse(value).data
}

/** As in the table of grants. */
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
