import { literalsIn, splitSteps } from './steps.ts'

/** Remarks about code that need no understanding. */
const smells: readonly (readonly [pattern: RegExp, remark: string])[] = [
  [/\b(?:TODO|FIXME)\b/, 'is marked as unfinished (TODO or FIXME)'],
  [/(?<![=!<>])==(?!=)|!=(?!=)/, 'compares with == or !=, which converts types in JavaScript'],
  [/\beval\s?\(|\bnew Function\(/, 'evaluates text as code (eval)'],
  [/^\s{0,80}var /, 'declares a variable with var'],
  [/\bcatch\s?(?:\([^)]{0,80}\)\s?)?\{\s{0,80}\}/, 'swallows an error (empty catch)'],
  [/\bconsole\.log\(|\bdebugger\b/, 'leaves debugging output in'],
]

export const asksForReview = /\b(?:review|inspect|check|look at|bugs)/i

/** The code in a task: the text of a block or in code marks, else lines that look like code. */
export function codeIn(task: string): string | undefined {
  const marked = splitSteps(task)
    .flatMap(literalsIn)
    .flatMap(({ raw, text }) => (/^[`-]/.test(raw) && !/^[\w./-]+$/.test(text) ? [text] : []))
  if (marked.length > 0) return [...new Set(marked)].join('\n')
  return /[={}]|\w\(|;$/m.test(task)
    ? task.replace(/^[\p{L} ,'-]{1,100}:\s|^\p{L}+\s/u, '')
    : undefined
}

/** The remarks whose patterns match a piece of code. */
export function reviewOf(code: string): string {
  const lines = code.trimEnd().split('\n')
  const remarks = smells.flatMap(([pattern, remark]) => {
    const at = lines.flatMap((line, index) => (pattern.test(line.slice(0, 1_000)) ? index + 1 : []))
    const where = `${at.length === 1 ? 'Line' : 'Lines'} ${at.join(', ')}`
    return at.length > 0 ? [`- ${where} ${remark}.`] : []
  })
  const size = `${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`
  return [
    `I looked at ${size} with fixed rules; meaning is beyond me.`,
    ...(remarks.length > 0 ? remarks : ['- None of my rules found anything to report.']),
  ].join('\n')
}
