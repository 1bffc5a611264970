import { headOf } from '#contracts/cut.ts'
import type { SkillBundle, SkillChanges, SkillVersion } from '#contracts/skill-catalog.ts'
import { toVisible } from '#contracts/visible-text.ts'

/** A version with its files. */
export interface Compared {
  readonly version: Pick<SkillVersion, 'hash' | 'description' | 'kind' | 'requires'>
  readonly files: SkillBundle['files']
}

/** Of each file. */
const maxLines = 200
const maxLineChars = 2_000

/** What is different in another version: all of it by number, and the first lines of each file. */
export function compareSkills(before: Compared, after: Compared): SkillChanges {
  const [was, is] = [before.version, after.version]
  const paths = [...new Set([...Object.keys(before.files), ...Object.keys(after.files)])].toSorted()
  const without = (some: readonly string[], others: readonly string[]) =>
    some.filter((one) => !others.includes(one))
  return {
    from: was.hash,
    ...(was.description !== is.description && {
      description: { before: was.description, after: is.description },
    }),
    ...(was.kind !== is.kind && { kind: { before: was.kind, after: is.kind } }),
    requires: {
      added: without(is.requires, was.requires),
      removed: without(was.requires, is.requires),
    },
    files: paths.flatMap((path) => compareFile(path, before.files[path], after.files[path])),
  }
}

function compareFile(
  path: string,
  before: string | undefined,
  after: string | undefined,
): SkillChanges['files'] {
  if (before === after) return []
  const [removed, added] = [linesWithout(before, after), linesWithout(after, before)]
  const lines = [
    // First, so that no number of lines that are gone leaves them without room.
    ...added.map((line) => `+ ${shown(line)}`),
    ...removed.map((line) => `- ${shown(line)}`),
  ]
  return [
    {
      path,
      is: before === undefined ? 'new' : after === undefined ? 'gone' : 'changed',
      added: added.length,
      removed: removed.length,
      lines: lines.slice(0, maxLines),
    },
  ]
}

const shown = (line: string): string => toVisible(headOf(line, maxLineChars))

/** Lines of one text that the other does not have, each as often as it has it more. */
function linesWithout(text = '', other = ''): readonly string[] {
  const left = new Map<string, number>()
  for (const line of linesOf(other)) left.set(line, (left.get(line) ?? 0) + 1)
  return linesOf(text).filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}

/** What ends the last line begins none. */
const linesOf = (text: string): readonly string[] =>
  text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r\n|\n/)
