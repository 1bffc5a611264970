import { slotText, usualHeader, type SecretGrant } from '#runtime/catalog/types/permit.ts'
import { failed } from '../types/plugin-output.ts'
import { valueOf, type CallSecrets, type SecretGrants } from './call-secrets.ts'
import { toPlaceholder } from './placeholder.ts'

/** Marks the place of the value in the path of a grant. */
const slotMark = '{}'

const patternOf = (nonce: string): RegExp =>
  new RegExp(toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce), 'g')

/** A plugin's request: it contains placeholders and never a value. */
export interface Unfilled {
  readonly url: URL
  readonly headers: Headers
  readonly body: string | undefined
}

/** A placeholder and its place: `at` is the header, the path with `{}` in its place, or the parameter. */
interface Use {
  readonly name: string
  readonly in: 'header' | 'basic' | 'path' | 'query' | 'fragment' | 'body'
  readonly at?: string
}

/** A filled placeholder, for the record. */
export interface FilledSlot {
  readonly secret: string
  readonly place: string
}

/** Placeholders of this call only: a guessed one, or one of another call, is ordinary text. */
export const hasPlaceholder = (text: string, nonce: string): boolean =>
  namesIn(text, nonce).length > 0

/** Whether a header contains a placeholder, in plain form or within basic authentication. */
export const headerHasPlaceholder = (name: string, value: string, nonce: string): boolean =>
  hasPlaceholder(value, nonce) || hasPlaceholder(credentialsIn(name, value) ?? '', nonce)

/**
 * Checks each placeholder of a request against the grants: this secret, for exactly this host, in exactly this place,
 * once.
 *
 * @throws The error that `refuse` makes of the first placeholder without a grant.
 */
export function checkPlaceholders(
  request: Unfilled,
  { grants, nonce, refuse }: Pick<CallSecrets, 'grants' | 'nonce' | 'refuse'>,
): readonly FilledSlot[] {
  const seen = new Map<string, string>()
  return usesIn(request, nonce).map((use) => {
    const place = placeText(use)
    const slot = slotFor(use, request.url.host, grants)
    if (typeof slot === 'string') throw refuse(use.name, slot)
    const first = seen.get(use.name)
    if (first !== undefined)
      throw refuse(
        use.name,
        `not granted: secret ${use.name} twice in a request (${first} and ${place}): it stands there once`,
      )
    seen.set(use.name, place)
    return { secret: use.name, place: slotText(slot) }
  })
}

/** Replaces the placeholders by their values. Only after `checkPlaceholders`. */
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
    // The platform's message would contain the value.
    throw failed('A secret has a character that no header may have, such as a line break.')
  }
}

function namesIn(text: string, nonce: string): readonly string[] {
  return [...text.matchAll(patternOf(nonce))].flatMap(([, name]) => name ?? [])
}

function usesIn({ url, headers, body = '' }: Unfilled, nonce: string): readonly Use[] {
  const at = (place: Omit<Use, 'name'>, text: string): readonly Use[] =>
    namesIn(text, nonce).map((name) => ({ name, ...place }))
  return [
    ...[...url.pathname.matchAll(patternOf(nonce))].map(({ 0: all, 1: name = '', index }) => {
      const rest = url.pathname.slice(index + all.length)
      return { name, in: 'path' as const, at: url.pathname.slice(0, index) + slotMark + rest }
    }),
    ...url.search
      .slice(1)
      .split('&')
      .flatMap((pair) => at({ in: 'query', at: parameterOf(pair, nonce) }, pair)),
    ...at({ in: 'fragment' }, url.hash),
    ...[...headers].flatMap(([name, value]) => [
      ...at({ in: 'header', at: name }, value),
      ...at({ in: 'basic' }, credentialsIn(name, value) ?? ''),
    ]),
    ...at({ in: 'body' }, body),
  ]
}

/**
 * The parameter whose whole value is a placeholder; with other text around the placeholder, a name that matches no
 * grant.
 */
function parameterOf(pair: string, nonce: string): string {
  const [name = '', ...value] = pair.split('=')
  const isWhole = value.join('=').replace(patternOf(nonce), '') === ''
  return isWhole && !hasPlaceholder(name, nonce) ? name : `${name.slice(0, 64)} (in part)`
}

const placeText = ({ in: kind, at }: Use): string => {
  if (kind === 'body') return 'the body'
  if (kind === 'fragment') return 'the fragment'
  // Only the beginning of a path: its rest may contain other data.
  if (kind === 'path') return `the path ${at?.slice(0, 64 + at.indexOf(slotMark))}`
  return kind === 'basic' ? 'basic authentication' : `the ${kind} ${at}`
}

/** The grant that covers a use, or the reason that none does. */
function slotFor(use: Use, host: string, grants: SecretGrants): SecretGrant | string {
  const { name } = use
  const ofName = grants.filter((grant) => grant.name === name)
  if (ofName.length === 0) return `not granted: secret ${name} (add it to grants in plugin.yaml)`
  // Exact match only: `*` is not a host here.
  const ofHost = ofName.filter((grant) => grant.host?.toLowerCase() === host)
  if (ofHost.length === 0) return `not granted: secret ${name} for ${host}`
  const slot = ofHost.find((grant) => isSlotOf(grant, use))
  if (slot) return slot
  const granted = [...new Set(ofHost.map(slotText))].join(', ')
  const refused = `not granted: secret ${name} in ${placeText(use)} of a request (granted: ${granted})`
  const isVague = ofHost.some((grant) => grant.in === use.in && grant.at === undefined)
  return isVague ? `${refused}. plugin.yaml has to say where, with at: ${atFor(use)}` : refused
}

function isSlotOf({ in: kind, at }: SecretGrant, use: Use): boolean {
  if (kind !== use.in) return false
  switch (kind) {
    case 'header':
      return (at ?? usualHeader).toLowerCase() === use.at
    case 'path':
      // Behind the secret's own segment, or the segments that the grant names, the path is free.
      return at !== undefined && (use.at === at || use.at?.startsWith(`${at}/`) === true)
    case 'query':
      return at === use.at
    case 'basic':
      return true
  }
}

/** The `at` that the manifest needs; for a path without the part behind the secret. */
function atFor({ in: kind, at = '' }: Use): string {
  if (kind !== 'path') return at
  const end = at.indexOf('/', at.indexOf(slotMark))
  return (end < 0 ? at : at.slice(0, end)).slice(0, 200)
}

/** `user:password` in a header of basic authentication. */
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
