import * as z from 'zod'
import { people, type Person } from './people.ts'
import type { UpstreamConfig } from './upstream.ts'

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
