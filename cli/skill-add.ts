// isola skill add: sends the skills of a folder, a zip or a URL, one after the other.

import { type Reply, ApiError, type Request } from '../src/client/client.ts'
import { lines, short, shown } from './text.ts'
import { at } from './author-files.ts'
import { verb, type Io } from './command.ts'
import { confirm } from './confirm.ts'
import { dryRun, flag, text, texts, UsageError } from './options.ts'

// The changes of another version of a skill, in lines, and the request that takes a version.

export type Changes = NonNullable<Reply<'POST /api/operator/skills'>['skills'][number]['changes']>

export const isUrl = (given: string) => /^https?:\/\//.test(given)

/** Nothing of them is cut: a person takes only what is shown. */
const countedText = (
  head: string,
  { added, removed, moved, ...change }: NonNullable<Changes['fields']>,
) => [
  `  ${head}: ${added - moved} lines new, ${removed - moved} ` +
    `gone${moved > 0 ? `, ${moved} moved (< from here, > to here)` : ''}`,
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

type Body = Exclude<Request<'POST /api/operator/skills'>['body'], Blob>
type Addition = Reply<'POST /api/operator/skills'>
type Added = Addition['skills'][number]

/** The request for one skill, or its fault. */
interface Sent {
  readonly name: string
  readonly body?: Body
  readonly problem?: string | undefined
  readonly notes?: readonly string[] | undefined
}

/** One request for each skill that is read here, so that each has the whole size of a request. */
async function toSent(
  given: string,
  only: readonly string[],
  key?: string,
): Promise<readonly Sent[]> {
  if (isUrl(given) && key !== undefined)
    throw new UsageError('--key: skills are signed on this machine; give a folder or a zip.')
  if (isUrl(given))
    return [{ name: given, body: { url: given, ...(only.length > 0 && { skills: [...only] }) } }]
  const { readLocalSkills, nameOfSent, signSkill } = await import('./skill-sources.ts')
  const { skills, source } = readLocalSkills(at(given), only)
  return skills.map((one) => ({
    name: nameOfSent(one),
    problem: one.problem,
    notes: one.notes,
    ...(one.bundle && {
      body: {
        bundle: one.bundle,
        source,
        folder: one.folder,
        ...(key !== undefined && { signature: signSkill(one, at(key)) }),
      } as Body,
    }),
  }))
}

export const add = verb({
  usage:
    '<folder, .zip or URL> [--skill <name>…] [--key <file>] [--look-alike] [--yes] [--dry-run]',
  about: [
    'Installs a skill, or all of a collection, which enables nothing. A folder or zip is read here, and ' +
      'nothing of it is run.',
    'Over one that is enabled the new version is shown with what it changes, and taken into use if that is confirmed.',
  ].join('\n'),
  options: {
    skill: texts('name', 'only this one of a collection', { to: null }),
    key: text('file', 'signs it with your private key', { to: null }),
    'look-alike': flag('though its name looks like that of another skill; for operators', {
      to: 'allowLookAlike',
    }),
    yes: flag('take a new version into use without being asked', { short: 'y', to: null }),
    ...dryRun,
  },
  async run({ args: [given], values, sent, ...io }) {
    const { ask, print } = io
    const isRehearsed = values['dry-run']
    const skills: Added[] = []
    const refused: Addition['refused'][number][] = []
    const all = await toSent(given, values.skill ?? [], values.key)
    for (const { name, body, problem, notes = [] } of all) {
      try {
        if (!body)
          throw new ApiError(422, { code: 'plugin_upload_invalid', message: problem ?? '' })
        const answer = await ask('POST /api/operator/skills', { ...body, ...sent() })
        skills.push(...answer.skills.map((one) => ({ ...one, notes: [...notes, ...one.notes] })))
        refused.push(...answer.refused)
      } catch (error) {
        if (all.length === 1 || !isRefusal(error)) throw error
        refused.push({ name, code: error.code, message: error.message })
      }
    }
    const told = skills.map((one) => describe(one, isRehearsed))
    for (const { name, message } of refused)
      io.stderr.write(`${name} is refused: ${short(message, Infinity)}\n`)
    const code = refused.length > 0 ? 1 : 0
    // Without a skill there is no answer: the refusals have been printed.
    if (skills.length === 0 && !io.isJson) return code
    const updated: string[] = []
    for (const { name, hash, changes, notes } of isRehearsed ? [] : skills) {
      // Over one that is enabled a version waits: its sender is shown what it changes, and asked.
      const waits = notes.some((note) => note.includes('until an operator takes'))
      if (!changes || !waits || !(values.yes ?? (await isWanted(name, changes, io)))) continue
      const taken = await ask('POST /api/operator/skills/:skill/update', { hash }, [name])
      updated.push(name)
      // It may be off now, which is among the notes.
      told.push(lines(`${name} has version ${hash.slice(0, 12)} from now on.`, taken.notes))
    }
    print({ skills, refused, updated: isRehearsed ? undefined : updated }, told.join('\n\n'))
    return code
  },
})

/** A refusal of one skill, not of the caller. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && [403, 409, 413, 422].includes(error.status)

/** Without a terminal no person is asked, and no version is taken. */
async function isWanted(name: string, changes: Changes, { stdin, stderr }: Io) {
  if (!stdin.isTTY) return false
  stderr.write(`${changesText(name, changes)}\n`)
  return confirm(`Use this version of ${name} from now on?`, { stdin, stderr })
}

function describe(
  { name, tier, hash, description, requires, files, notes, changes }: Added,
  isRehearsed = false,
) {
  const version = hash.slice(0, 12)
  return lines(
    `${name} (${tier}, ${version})${isRehearsed ? ' would be installed.' : ' is installed.'}`,
    `  ${short(description, 1_024)}`,
    requires.length > 0 && `  requires ${requires.join(', ')}`,
    files.length > 0 && `  files: ${files.join(', ')}`,
    changes && changesText(name, changes),
    notes.map((note) => `  note: ${short(note, 1_000)}`),
    !isRehearsed && !changes && `  Next: isola skill enable ${name} ${version}`,
  )
}
