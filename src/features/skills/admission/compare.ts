import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import { textLines, valueLines } from '../types.ts'
import {
  toSkillBundleText,
  type SkillBundle,
  type SkillChanges,
  type SkillVersion,
} from '#runtime/catalog/types/skill-catalog.ts'

/** A version with its files. */
interface Compared {
  readonly version: Pick<SkillVersion, 'hash' | 'description' | 'kind' | 'requires'>
  readonly bundle: SkillBundle
}

/** All differences to another version: a person approves only what the list shows. */
export function compareSkills(before: Compared, after: Compared): SkillChanges {
  const [was, is] = [before.version, after.version]
  const [old, now] = [before.bundle.files, after.bundle.files]
  const fields = diffLines(fieldLines(before.bundle), fieldLines(after.bundle))
  const paths = [...new Set([...Object.keys(old), ...Object.keys(now)])].toSorted()
  const without = (some: readonly string[], others: readonly string[]) =>
    some.filter((one) => !others.includes(one))
  return {
    from: was.hash,
    ...(was.description !== is.description && {
      description: { before: was.description, after: is.description },
    }),
    ...(was.kind !== is.kind && { kind: { before: was.kind, after: is.kind } }),
    ...(fields.lines.length > 0 && { fields: toCounted(fields) }),
    requires: {
      added: without(is.requires, was.requires),
      removed: without(was.requires, is.requires),
    },
    files: paths.flatMap((path) => compareFile(path, old[path], now[path])),
  }
}

function compareFile(
  path: string,
  before: string | undefined,
  after: string | undefined,
): SkillChanges['files'] {
  if (before === after) return []
  const is = before === undefined ? 'new' : after === undefined ? 'gone' : 'changed'
  return [{ path, is, ...toCounted(diffLines(textLines(before ?? ''), textLines(after ?? ''))) }]
}

/** In the order that is hashed: that of a file says nothing. */
const fieldLines = (bundle: SkillBundle): readonly string[] =>
  valueLines((JSON.parse(toSkillBundleText(bundle)) as SkillBundle).fields)

const toCounted = ({ added, removed, moved, lines }: LineDiff) => ({
  added: added.length,
  removed: removed.length,
  moved: moved.length,
  lines,
})
