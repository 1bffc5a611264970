// What another version of a skill changes, in lines, and how one is taken.
import type { Client, Reply } from '../../src/client/client.ts'
import { short } from './text.ts'

export type Changes = NonNullable<Reply<'POST /api/operator/skills'>['skills'][number]['changes']>

export const isUrl = (given: string) => /^https?:\/\//.test(given)

export const takeVersion = (request: Client['request'], skill: string, hash: string) =>
  request('POST /api/operator/skills/:skill/update', { params: { skill }, body: { hash } })

const moreText = (count: number) =>
  count > 0
    ? [`    … ${count} lines more are not shown: read the whole of it before you take it`]
    : []

/** What another version changes, in lines. */
export function changesText(name: string, { from, description, kind, requires, files }: Changes) {
  const lines = [
    ...(description
      ? [
          `  description was: ${short(description.before, 1_024)}`,
          `  description is:  ${short(description.after, 1_024)}`,
        ]
      : []),
    ...(kind ? [`  kind: ${kind.before}, now ${kind.after}`] : []),
    ...requires.added.map((one) => `  + requires ${one}`),
    ...requires.removed.map((one) => `  - requires ${one}`),
    ...files.flatMap((file) => [
      `  ${file.path} (${file.is}): ${file.added} lines new, ${file.removed} gone`,
      ...file.lines.map((line) => `    ${short(line, 2_100)}`),
      ...moreText(file.added + file.removed - file.lines.length),
    ]),
  ]
  return [
    `${name}, compared with ${from.slice(0, 12)}:`,
    ...(lines.length > 0 ? lines : ['  nothing']),
  ].join('\n')
}
