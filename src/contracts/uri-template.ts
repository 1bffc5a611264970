export const maxUriChars = 2_048
const maxVariables = 8

/** A URI template, level 1 of RFC 6570: text and `{name}`. A variable stands for at least one character and no slash. */
export interface UriTemplate {
  readonly names: readonly string[]
  /** The text before, between and after the variables: one more than there are names. */
  readonly texts: readonly string[]
}

/** @returns The template, or what is wrong with it. */
export function parseUriTemplate(template: string): UriTemplate | string {
  if (template.length > maxUriChars) return `has more than ${maxUriChars} characters`
  const parts = template.split(/\{([^{}]*)\}/)
  const texts = parts.filter((_part, index) => index % 2 === 0)
  const names = parts.filter((_part, index) => index % 2 === 1)
  if (texts.some((text) => /[{}]/.test(text))) return 'has a brace without its other half'
  if (names.length === 0) return 'has no {variable}: what has none is a uri'
  if (names.length > maxVariables) return `has more than ${maxVariables} variables`
  const odd = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name))
  if (odd !== undefined) return `{${odd}} is no simple variable such as {id}`
  if (new Set(names).size < names.length) return 'names a variable twice'
  if (names.includes('uri')) return '{uri} is taken: that is the whole URI'
  if (texts.slice(1, -1).includes('')) return 'has two variables with nothing between them'
  return { names, texts }
}
