/**
 * Whether a URI fits a template (RFC 6570): its fixed parts in their order, with text in between. No template becomes
 * a regular expression. The server decides about the URI itself.
 */
export function fitsTemplate(uri: string, template: string): boolean {
  const fixed = template.split(/\{[^{}]*\}/)
  const [first = '', ...rest] = fixed
  const last = rest.pop()
  if (last === undefined) return uri === first
  if (!uri.startsWith(first) || !uri.endsWith(last)) return false
  let at = first.length
  const end = uri.length - last.length
  for (const part of rest) {
    const found = part === '' ? at : uri.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return at <= end
}
