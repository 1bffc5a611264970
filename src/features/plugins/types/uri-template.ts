import type { UriTemplate } from '#contracts/manifest/manifest-offers.ts'
import { maxUriChars } from '#contracts/manifest/manifest-offers.ts'

/**
 * The decoded variables of a URI that the template describes; `undefined` if it does not describe the URI. Takes
 * linear time in the URI: no regular expression is made of the template.
 */
export function matchUriTemplate(
  template: UriTemplate,
  uri: string,
): Readonly<Record<string, string>> | undefined {
  const [first = '', ...texts] = template.texts
  if (uri.length > maxUriChars || !uri.startsWith(first)) return undefined
  const values = valuesIn(uri.slice(first.length), template.names, texts)
  return values && Object.fromEntries(values)
}

/** For a text that begins with a variable: each variable ends at the literal after it, the last one at the end. */
function valuesIn(
  text: string,
  [name = '', ...names]: readonly string[],
  [behind = '', ...texts]: readonly string[],
): readonly (readonly [string, string])[] | undefined {
  const end = names.length === 0 ? lastAt(text, behind) : text.indexOf(behind, 1)
  const given = text.slice(0, Math.max(0, end))
  const value = decoded(given)
  if (given === '' || value === undefined || given.includes('/')) return undefined
  const others = names.length === 0 ? [] : valuesIn(text.slice(end + behind.length), names, texts)
  return others && [[name, value], ...others]
}

const lastAt = (text: string, end: string): number =>
  text.endsWith(end) ? text.length - end.length : -1

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
