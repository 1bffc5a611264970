import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import { textLines, valueLines, hasHidden } from '../types.ts'
import {
  toSkillBundleText,
  type SkillBundle,
  type SkillChanges,
  type SkillVersion,
  isSkillName,
  skillCaps,
  type ReadSkillUpload,
  type SentSkill,
} from '#runtime/catalog/types/skill-catalog.ts'
import { IsolaError } from '#contracts/errors.ts'
import { maxPersonaTokens, type SkillDiagnostic } from '#runtime/catalog/types/skill.ts'
import { firstHidden, toVisible } from '#contracts/visible-text.ts'
import { hasHiddenInLine } from '#features/plugins/types/visible-text.ts'
import { readSkill, textOf, entryFile } from '../read-skill.ts'

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

/** The dependencies of reading a bundle. */
export interface ReadBundleDeps {
  readonly sha256: (text: string) => string
  readonly count: { readonly ofText: (text: string) => number }
  /** Throws `plugin_upload_invalid` for what is no path in a folder, or two names for one file. */
  readonly checkPaths: (paths: readonly string[]) => void
}

/** A bundle that may be installed, before its signature is checked. */
type UnverifiedSkill = Omit<ReadSkillUpload, 'version'> & {
  readonly version: Omit<ReadSkillUpload['version'], 'tier' | 'signer' | 'source'>
}

/** So much of the instructions is searched. */
const maxSearchedChars = 4_000

/**
 * Checks an uploaded skill: its shape, sizes and paths, invisible characters in its texts, and that it is a skill by
 * the specification, read as leniently as that says. Runs nothing of it.
 *
 * @throws `plugin_upload_invalid`, naming the place.
 */
export function readBundle(
  { folder, bundle, problem, notes = [] }: SentSkill,
  { sha256, count, checkPaths }: ReadBundleDeps,
): UnverifiedSkill {
  if (!bundle) throw refusedSkill(problem ?? 'There is no bundle.')
  const { fields, files } = bundle
  const paths = Object.keys(files)
  if (JSON.stringify(fields).length > skillCaps.maxFieldsChars)
    throw refusedSkill(
      `${entryFile}: its front matter has more than ${skillCaps.maxFieldsChars} characters.`,
    )
  if (paths.length > skillCaps.maxFiles)
    throw refusedSkill(
      `files: there are ${paths.length}; a skill has ${skillCaps.maxFiles} at most.`,
    )
  checkPaths(paths)
  const chars = Object.values(files).reduce((sum, text) => sum + text.length, 0)
  if (chars > skillCaps.maxChars)
    throw refusedSkill(
      `files: they have ${chars} characters; a skill has ${skillCaps.maxChars} at most.`,
    )
  const entry = files[entryFile]
  if (entry === undefined) throw refusedSkill(`There is no ${entryFile} at the top of the skill.`)
  for (const [path, text] of Object.entries(files)) checkText(path, text)
  const named = folder ?? textOf(fields['name']) ?? ''
  const { skill, diagnostics } = readSkill(entry, { folder: named, parseYaml: () => fields })
  if (!skill) throw refusedSkill(`${entryFile}: ${diagnostics.map(toLine).join('; ')}`)
  const { body, metadata: _, allowedTools: __, frontMatter: ___, ...about } = skill
  for (const [field, text] of Object.entries({ name: skill.name, description: skill.description }))
    if (hasHidden(text) || !text.isWellFormed() || (field === 'name' && hasHiddenInLine(text)))
      throw refusedSkill(`${entryFile}: ${field} has characters that nobody can see.`)
  // A file that says no name that can be used is loaded all the same: its folder has one, mostly.
  const name = isSkillName(skill.name) || !isSkillName(named) ? skill.name : named
  const renamed = name === skill.name ? [] : [`it is installed as ${name}, the name of its folder`]
  const tokens = count.ofText(body)
  if (skill.kind === 'persona' && tokens > maxPersonaTokens)
    throw refusedSkill(
      `${entryFile}: has ${tokens} tokens; a persona has ${maxPersonaTokens} at most.`,
    )
  const text = toSkillBundleText(bundle)
  return {
    version: {
      ...about,
      name,
      hash: sha256(text),
      sizeBytes: new TextEncoder().encode(text).byteLength,
      paths: paths.filter((path) => path !== entryFile),
      tokens,
      text: body.slice(0, maxSearchedChars).toWellFormed(),
    },
    bundle,
    text,
    notes: [
      ...notes,
      ...renamed,
      // A field of `metadata` that has no meaning here is reported to the author; other notes do not matter here.
      ...diagnostics
        .filter(({ severity, field }) => severity !== 'note' || field === 'metadata')
        .map(toLine),
    ],
  }
}

/** A model reads what a person who looks at it does not see: text in tags, turned around, of no width. */
function checkText(path: string, text: string): void {
  if (!text.isWellFormed())
    throw refusedSkill(`${path}: is not valid Unicode (half of a surrogate pair).`)
  // A mark at the beginning is an editor's.
  const lines = text.replace(/^\ufeff/, '').split('\n')
  const at = lines.findIndex(hasHidden)
  if (at < 0) return
  const found = String.fromCodePoint(lines[at]!.codePointAt(firstHidden(lines[at]!, 'text')!)!)
  throw refusedSkill(
    `${path}:${at + 1}: has a character that nobody can see (${toVisible(found)}).`,
  )
}

const toLine = ({ field, message }: SkillDiagnostic): string =>
  `${field === undefined ? '' : `${toVisible(field)} `}${toVisible(message)}`

/** The refusal of an upload that cannot be installed; the message names the fault. */
export const refusedSkill = (message: string): IsolaError =>
  new IsolaError('plugin_upload_invalid', message)

/** The skill's own name, or its folder's; safe to show. */
export function nameOf({ folder = '', bundle }: SentSkill): string {
  const name = bundle?.fields['name']
  return toVisible(typeof name === 'string' ? name : folder).slice(0, 80)
}
