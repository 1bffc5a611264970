import { unquoted } from '#features/plugins/types/front-matter.ts'
import { toVisible, firstHidden } from '#contracts/visible-text.ts'

/** Whether a reader that is not as lenient as `readFrontMatter` may find something else, or nothing. */
export const needsQuotes = (yaml: string): boolean =>
  yaml.split('\n').some((line) => unquoted.test(line.trimEnd()))

/**
 * A text as lines to compare, with their invisible characters: their ends where they are not a plain break, and
 * blanks before them. Two texts that are different never have the same lines.
 */
export function textLines(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  const last = lines.pop()!
  const shown = lines.map(toVisibleLine)
  return last === '' ? shown : [...shown, `${toVisibleLine(last)} \\ no break at the end`]
}

/** One line in which every character is visible, blanks at its end too. */
const toVisibleLine = (line: string): string =>
  toVisible(line).replace(/(?<! ) +$/, (blanks) => '\\u{20}'.repeat(blanks.length))

/** A JSON value as lines, each with where it stands. Two values that are different never have the same lines. */
export function valueLines(value: unknown, place = ''): readonly string[] {
  const isInList = place.endsWith('[]')
  if (typeof value === 'string') {
    const lines = value.split('\n').map((line) => `${place}: ${plain(line)}`)
    // Else the lines of one text in a list would look like texts of their own.
    return isInList && lines.length > 1 ? [`${place}: a text of lines`, ...lines] : lines
  }
  if (typeof value !== 'object' || value === null) return [`${place}: ${JSON.stringify(value)}`]
  const isList = Array.isArray(value)
  const parts = Object.entries(value).flatMap(([key, part]) =>
    valueLines(part, isList ? `${place}[]` : place === '' ? named(key) : `${place}.${named(key)}`),
  )
  if (parts.length === 0) return [`${place}: ${isList ? '[]' : '{}'}`]
  return isInList ? [`${place}: ${isList ? 'a list' : 'fields'}`, ...parts] : parts
}

const named = (key: string): string => (/^[\w-]+$/.test(key) ? key : quoted(key))

/** Lines that stand for a value that is no text, or for parts of one. */
const notText = /^"|^(?:-?\d[\d.e+-]*|true|false|null|\[\]|\{\}|a list|fields|a text of lines)$/i

/** A line of a text as it is; in quotes if it has hidden characters, or could be taken for a value that is no text. */
function plain(line: string): string {
  const isPlain = line !== '' && line === line.trim() && !notText.test(line)
  return isPlain ? toVisibleLine(line) : quoted(line)
}

/** Hidden characters become their codes; backslashes are doubled as they are without quotes. */
const quoted = (text: string): string => `"${toVisibleLine(text).replaceAll('"', '\\"')}"`

/** Whether a text that a person is shown has something that this person would not see. */
export const hasHidden = (text: string): boolean => firstHidden(text, 'text') !== undefined
