import { materialOf } from './review.ts'

const maxListed = 5

/** What can be said about code without understanding it. */
const smells: readonly (readonly [pattern: RegExp, remark: string])[] = [
  [/\b(?:TODO|FIXME|XXX|HACK)\b/, 'is marked as unfinished (TODO or FIXME)'],
  [/(?<![=!<>])==(?!=)|!=(?!=)/, 'compares with == or !=, which converts types in JavaScript'],
  [/\beval\s?\(|\bnew Function\(/, 'evaluates text as code (eval)'],
  [/^\s{0,80}var /, 'declares a variable with var'],
  [
    /\bcatch\s?(?:\([^)]{0,80}\)\s?)?\{\s{0,80}\}|\bexcept[^:]{0,80}:\s?pass\b/,
    'swallows an error (empty catch)',
  ],
  [/\bconsole\.log\(|\bdebugger\b/, 'leaves debugging output in'],
  [
    /(?:password|secret|api_?key|token)["']?\s?[:=]\s?["'][^"']{4,}["']/i,
    'seems to hold a secret in plain text',
  ],
  [/\.innerHTML\s?=|document\.write\(/, 'writes unescaped HTML'],
  [/^.{101}/, 'is longer than 100 characters'],
  [/\bany\b(?=[\s;,)>\]=]|$)(?<=: ?any|<any)/, 'gives up typing with any'],
]

/** A deterministic summary of a task: of the code it brings along if there is some, else of its text. Linear in the text. */
export function digestOf(task: string): string {
  const code = materialOf(task)
  return code === undefined ? textDigest(task) : codeDigest(code)
}

/** The same of a text that a tool read, by the ending of its name. */
export function digestOfFile(text: string, name: string): string {
  const isCode = /\.\w+$/.test(name) && !/\.(?:md|txt|csv|log)$/i.test(name)
  return isCode ? codeDigest(text) : textDigest(text)
}

function codeDigest(code: string): string {
  const lines = code.trimEnd().split('\n')
  const remarks = smells.flatMap(([pattern, remark]) => {
    const places = lines.flatMap((line, index) =>
      pattern.test(line.slice(0, 1_000)) ? [index + 1] : [],
    )
    return places.length > 0 ? [`- ${linesText(places)} ${remark}.`] : []
  })
  return [
    `I looked at ${lines.length} ${lines.length === 1 ? 'line' : 'lines'} with fixed rules; meaning is beyond me.`,
    ...(remarks.length > 0 ? remarks : ['- None of my rules found anything to report.']),
  ].join('\n')
}

function linesText(numbers: readonly number[]): string {
  const shown = numbers.slice(0, maxListed).join(', ')
  const more = numbers.length > maxListed ? ` and ${numbers.length - maxListed} more` : ''
  return `${numbers.length === 1 ? 'Line' : 'Lines'} ${shown}${more}`
}

function textDigest(text: string): string {
  const trimmed = text.trim()
  const words = trimmed.split(/\s+/).filter((word) => word !== '')
  const first = (/^[^.!?\n]{1,300}[.!?]?/.exec(trimmed)?.[0] ?? '').trim()
  const lines = trimmed.split('\n').length
  return `The text has ${words.length} ${words.length === 1 ? 'word' : 'words'} in ${lines} ${lines === 1 ? 'line' : 'lines'}. It begins: "${first}"`
}
