import * as z from 'zod'
import { roles, type Role } from '#contracts/keys.ts'
import type { Proof } from '../proof.ts'
import type { UpstreamConfig } from './upstream.ts'

/** A person whom the upstream provider knows, and the principal it stands for here. */
export interface Person {
  readonly email?: string | undefined
  readonly subject?: string | undefined
  readonly principal: string
  /** For a principal without a key here; a principal with keys has the role of its row. */
  readonly role: Role
}

const person = z
  .strictObject({
    email: z.email().toLowerCase().optional(),
    subject: z.string().min(1).max(255).optional(),
    principal: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._@+-]{0,63}$/, 'must be the name of a principal')
      .refine((name) => name !== 'operator', '"operator" is whoever has the operator key'),
    role: z.enum(roles),
  })
  .refine(
    ({ email, subject }) => (email === undefined) !== (subject === undefined),
    'must name an email or a subject, one of the two',
  )

/** `ISOLA_OIDC_PEOPLE`: a JSON list. */
export const people = z
  .string()
  .optional()
  .transform((text, context) => {
    if (!text) return []
    try {
      return JSON.parse(text) as unknown
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a JSON list' })
      return z.NEVER
    }
  })
  .pipe(z.array(person).max(1_000))

/** The person's entry, or `undefined` if the list has none. A subject is compared as it is, an e-mail in lower case. */
export function findPerson(
  list: readonly Person[],
  by: Pick<Extract<Proof['by'], { kind: 'person' }>, 'subject' | 'email'>,
): Person | undefined {
  return (
    list.find(({ subject }) => subject !== undefined && subject === by.subject) ??
    list.find(({ email }) => email !== undefined && email === by.email?.toLowerCase())
  )
}

/** The address of an upstream provider. Compared character by character, as the specification says. */
const issuer = z
  .union([
    z.literal(''),
    z
      .url({ protocol: /^https?$/ })
      .refine(
        (url) => /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(url),
        'must be an https address',
      ),
  ])
  .optional()

/** The settings of sign-in with another provider. */
export const oidcSettings = {
  ISOLA_OIDC_ISSUER: issuer,
  ISOLA_OIDC_CLIENT_ID: z.string().optional(),
  ISOLA_OIDC_CLIENT_SECRET: z.string().optional(),
  ISOLA_OIDC_PEOPLE: people,
}

/** Absent unless both the provider and our client id are set. */
export function toOidc(settings: {
  readonly [Name in keyof typeof oidcSettings]?: z.infer<(typeof oidcSettings)[Name]> | undefined
}): (UpstreamConfig & { readonly people: readonly Person[] }) | undefined {
  const { ISOLA_OIDC_ISSUER: url, ISOLA_OIDC_CLIENT_ID: clientId } = settings
  if (!url || !clientId) return undefined
  const clientSecret = settings.ISOLA_OIDC_CLIENT_SECRET
  return { issuer: url, clientId, clientSecret, people: settings.ISOLA_OIDC_PEOPLE ?? [] }
}
