import { maskLiterals } from './literals.ts'

const longLineChars = 100
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
  [/\bany\b(?=[\s;,)>\]=]|$)(?<=: ?any|<any)/, 'gives up typing with any'],
]

/** A deterministic summary of a task: of its code if there is some, else of its text. Linear in the text. */
export function digestOf(task: string): string {
  const blocks = maskLiterals(task).literals.filter(({ kind }) => kind === 'block')
  const code = blocks.map(({ text }) => text).join('\n')
  if (code.trim() !== '') return codeDigest(code)
  return looksLikeCode(task) ? codeDigest(task) : textDigest(task)
}

function looksLikeCode(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const codeLines = lines.filter((line) =>
    /[;{}]$|=>$|^\s*(?:import|export|function|const|let|var|def|class|return|if \(|#include)\b/.test(
      line.slice(-400).trimEnd(),
    ),
  )
  return lines.length >= 2 && codeLines.length * 3 >= lines.length
}

function codeDigest(code: string): string {
  const lines = code.split('\n')
  const long = lines.flatMap((line, index) => (line.length > longLineChars ? [index + 1] : []))
  const remarks = smells.flatMap(([pattern, remark]) => {
    const places = lines.flatMap((line, index) =>
      pattern.test(line.slice(0, 1_000)) ? [index + 1] : [],
    )
    return places.length > 0 ? [`- ${linesText(places)} ${remark}.`] : []
  })
  return [
    `I looked at ${lines.length} ${lines.length === 1 ? 'line' : 'lines'} with fixed rules; meaning is beyond me.`,
    ...remarks,
    ...(long.length > 0
      ? [
          `- ${linesText(long)} longer than ${longLineChars} characters.`.replace(
            ' longer',
            long.length > 1 ? ' are longer' : ' is longer',
          ),
        ]
      : []),
    ...(remarks.length === 0 && long.length === 0
      ? ['- None of my rules found anything to report.']
      : []),
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
  return `The task has ${words.length} ${words.length === 1 ? 'word' : 'words'} in ${lines} ${lines === 1 ? 'line' : 'lines'}. It begins: "${first}"`
}
