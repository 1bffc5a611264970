import {
  failed,
  valueOf,
  type CallSecrets,
  type SecretGrants,
  type SecretPlace,
} from './call-secrets.ts'
import { toPlaceholder } from './placeholder.ts'

const patternOf = (nonce: string): RegExp =>
  new RegExp(toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce), 'g')

/** A request as the plugin made it: it holds placeholders and never a value. */
export interface Unfilled {
  readonly url: URL
  readonly headers: Headers
  readonly body: string | undefined
}

/** A placeholder and where it stands. */
interface Use {
  readonly name: string
  readonly place: SecretPlace | 'body' | 'fragment'
}

/** Of this call: one that was guessed, or is of another call, is text like any other. */
export const hasPlaceholder = (text: string, nonce: string): boolean =>
  namesIn(text, nonce).length > 0

/** Whether a header holds one, in the open or within basic authentication. */
export const headerHasPlaceholder = (name: string, value: string, nonce: string): boolean =>
  hasPlaceholder(value, nonce) || hasPlaceholder(credentialsIn(name, value) ?? '', nonce)

/**
 * Checks each placeholder of a request against the grants: this secret, for this very host, in this place.
 *
 * @throws what `refuse` makes of the first that is not granted so.
 * @returns The names in it.
 */
export function checkPlaceholders(
  request: Unfilled,
  { grants, nonce, refuse }: Pick<CallSecrets, 'grants' | 'nonce' | 'refuse'>,
): readonly string[] {
  const uses = usesIn(request, nonce)
  for (const { name, place } of uses) {
    const why = whyRefused({ name, place }, request.url.hostname, grants)
    if (why !== undefined) throw refuse(name, why)
  }
  return uses.map(({ name }) => name)
}

/** Puts the values in where the placeholders stand. Only after `checkPlaceholders`. */
export function fillPlaceholders(
  { url, headers }: Unfilled,
  { values, nonce }: { readonly values: ReadonlyMap<string, string>; readonly nonce: string },
): { readonly url: URL; readonly headers: Headers } {
  const fill = (text: string, encode = (value: string) => value) =>
    text.replace(patternOf(nonce), (_all, name: string) => encode(valueOf(values, name)))
  const filled = new URL(url)
  if (hasPlaceholder(url.pathname, nonce)) filled.pathname = fill(url.pathname, encodeURIComponent)
  if (hasPlaceholder(url.search, nonce)) filled.search = fill(url.search, encodeURIComponent)
  const changed = [...headers].map(([name, value]): [string, string] => {
    const credentials = credentialsIn(name, value)
    return credentials !== undefined && hasPlaceholder(credentials, nonce)
      ? [name, `Basic ${toBase64(fill(credentials))}`]
      : [name, fill(value)]
  })
  try {
    return { url: filled, headers: new Headers(changed) }
  } catch {
    // The platform's words would hold the value.
    throw failed('A secret has a character that no header may have, such as a line break.')
  }
}

function namesIn(text: string, nonce: string): readonly string[] {
  return [...text.matchAll(patternOf(nonce))].flatMap(([, name]) => name ?? [])
}

function usesIn({ url, headers, body = '' }: Unfilled, nonce: string): readonly Use[] {
  const at = (place: Use['place'], text: string) =>
    namesIn(text, nonce).map((name) => ({ name, place }))
  return [
    ...at('path', url.pathname + url.search),
    ...at('fragment', url.hash),
    ...[...headers].flatMap(([name, value]) => [
      ...at('header', value),
      ...at('basic', credentialsIn(name, value) ?? ''),
    ]),
    ...at('body', body),
  ]
}

function whyRefused({ name, place }: Use, host: string, grants: SecretGrants): string | undefined {
  const ofName = grants.filter((grant) => grant.name === name)
  if (ofName.length === 0) return `not granted: secret ${name} (add it to grants in plugin.yaml)`
  // Exactly: `*` is no host here.
  const ofHost = ofName.filter((grant) => grant.host?.toLowerCase() === host)
  if (ofHost.length === 0) return `not granted: secret ${name} for ${host}`
  if (ofHost.some((grant) => grant.in === place)) return undefined
  const places = [...new Set(ofHost.map((grant) => grant.in))].join(', ')
  return `not granted: secret ${name} in the ${place} of a request (plugin.yaml says in: ${places})`
}

/** `user:password` of a header of basic authentication. */
function credentialsIn(name: string, value: string): string | undefined {
  const match = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value.trim())
  if (name.toLowerCase() !== 'authorization' || !match?.[1]) return undefined
  try {
    const bytes = Uint8Array.from(atob(match[1]), (char) => char.charCodeAt(0))
    return new TextDecoder().decode(bytes)
  } catch {
    return undefined
  }
}

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
