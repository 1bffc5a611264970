/** Reads one YAML document; throws an `Error` whose message says where it is wrong. */
export type ParseYaml = (text: string) => unknown

/** A file in two parts: the YAML between its first two lines of `---`, and the text below. */
interface FrontMatter {
  readonly yaml: string
  readonly body: string
}

/** Cuts a SKILL.md in two; returns a text if it cannot: the reason. */
export function cutFrontMatter(text: string): FrontMatter | string {
  const lines = text.split(/\r\n|\n|\r/)
  const isFence = (line: string | undefined) => line !== undefined && /^---\s*$/.test(line)
  if (!isFence(lines[0])) return 'must begin with a line of three hyphens (---)'
  const end = lines.findIndex((line, index) => index > 0 && isFence(line))
  if (end < 0)
    return 'the front matter does not end: a second line of three hyphens (---) is missing'
  return {
    // The first line stays, empty, so that line numbers in messages are those of the file.
    yaml: ['', ...lines.slice(1, end)].join('\n'),
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  }
}

/** Top-level values with an unquoted `: `, which most authors of broken files meant as text. */
export const unquoted = /^([A-Za-z][\w-]*):[ \t]+(?![ \t|>'"[{&*!%@`#])(.*:(?:[ \t].*|))$/

/**
 * Parses the YAML; if that fails, tries once more with `key: a value: with a colon` quoted.
 *
 * @returns `quoted` names the keys that needed this.
 * @throws The error of the first try.
 */
export function readFrontMatter(
  yaml: string,
  parseYaml: ParseYaml,
): { readonly value: unknown; readonly quoted: readonly string[] } {
  try {
    return { value: parseYaml(yaml), quoted: [] }
  } catch (error) {
    const quoted: string[] = []
    const lines = yaml.split('\n').map((line) => {
      const [, key, value] = unquoted.exec(line.trimEnd()) ?? []
      if (key === undefined || value === undefined) return line
      quoted.push(key)
      return `${key}: ${JSON.stringify(value)}`
    })
    if (quoted.length === 0) throw error
    try {
      return { value: parseYaml(lines.join('\n')), quoted }
    } catch {
      throw error
    }
  }
}
