// The changes of another version of a skill, in lines, and the request that takes a version.
import type { Reply } from '../src/client/client.ts'
import { lines, short, shown } from './text.ts'

export type Changes = NonNullable<Reply<'POST /api/operator/skills'>['skills'][number]['changes']>

export const isUrl = (given: string) => /^https?:\/\//.test(given)

/** Nothing of them is cut: a person takes only what is shown. */
const countedText = (
  head: string,
  { added, removed, moved, ...change }: NonNullable<Changes['fields']>,
) => [
  `  ${head}: ${added - moved} lines new, ${removed - moved} gone${moved > 0 ? `, ${moved} moved (< from here, > to here)` : ''}`,
  ...change.lines.map((line) => `    ${shown(line)}`),
]

/** The changes of another version, in lines. */
export function changesText(
  name: string,
  { from, description, kind, requires, fields, files }: Changes,
) {
  const told = [
    description && [
      `  description was: ${short(description.before, 1_024)}`,
      `  description is:  ${short(description.after, 1_024)}`,
    ],
    kind && `  kind: ${kind.before}, now ${kind.after}`,
    requires.added.map((one) => `  + requires ${one}`),
    requires.removed.map((one) => `  - requires ${one}`),
    fields && countedText('front matter as it is read', fields),
    files.flatMap((file) => countedText(`${shown(file.path)} (${file.is})`, file)),
  ]
  return lines(`${name}, compared with ${from.slice(0, 12)}:`, lines(...told) || '  nothing')
}
