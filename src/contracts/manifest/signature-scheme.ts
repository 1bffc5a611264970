import * as z from 'zod'

/** Ways in which a service signs its requests: which headers, which parts of the request, and how. */
export const requestSchemes = [
  'github',
  'slack',
  'stripe',
  'shopify',
  'line',
  'discord',
  'telegram',
] as const
/** Ways to write the HMAC-SHA-256 of a text. */
export const textSchemes = ['hex', 'base64'] as const

/** `scheme` of a grant `in: hmac`. */
export const signatureScheme = z.enum([...textSchemes, ...requestSchemes])
