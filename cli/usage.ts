// Usage lines: how many arguments they ask for, and names that are near to an unknown word.

/** The command line is wrong, not what it asks for: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Single edits (insert, delete, replace, swap neighbours) from one word to another. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    const at = (line: readonly number[], column: number) => line[column] ?? Infinity
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next[j] = Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        next[j] = Math.min(at(next, j), at(before, j - 2) + 1)
    }
    before = row
    row = next
  }
  return row[to.length] ?? Infinity
}

/** The names a person may have meant, nearest first, at most three. */
export function near(word: string, names: readonly string[]): string[] {
  return names
    .map((name) => ({
      name,
      far: name.startsWith(word) && word.length > 1 ? 0 : distance(word, name),
    }))
    .filter(
      ({ name, far }) => far <= Math.max(1, Math.floor(Math.max(name.length, word.length) / 3)),
    )
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name)
}

/** "There is no noun sesion. Did you mean session?" */
export function unknown(kind: string, word: string, names: readonly string[]): UsageError {
  const meant = near(word, names)
  const hint =
    meant.length > 0
      ? `Did you mean ${meant.join(' or ')}?`
      : `There ${names.length === 1 ? 'is' : 'are'}: ${names.join(', ')}.`
  return new UsageError(`There is no ${kind} ${word}. ${hint}`)
}

/** The arguments of the first line of a usage text, without its options: the other lines are about those. */
const argumentText = (usage: string): string =>
  (usage.split('\n')[0] ?? '')
    .replace(/\[--[^[\]]*\]…?/g, '')
    .replace(/(?<![\w-])--?\w[\w-]*[ =]<[^<>]*>…?/g, '')

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/<([^<>]*)>/g)].map(([, name = '']) => name)

/** The names of the arguments of a usage line, in their order. */
export const argumentsIn = (usage: string): readonly string[] => namesIn(argumentText(usage))

/**
 * How many arguments a usage text asks for. `<name>` is one, `[<name>]` one that may be left out, and after `…` there may
 * be more. Of several lines that begin with `isola` any one may be meant.
 */
export function countArguments(usage: string) {
  const forms = usage.split(/\n *(?=isola )/).map(argumentText)
  const needed = forms.map((form) => namesIn(form.replace(/\[[^[\]]*\]/g, '')).length)
  const most = forms.map((form) => (form.includes('…') ? Infinity : namesIn(form).length))
  return { min: Math.min(...needed), max: Math.max(...most) }
}
