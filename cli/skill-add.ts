// isola skill add: sends the skills of a folder, a zip or a URL, one after the other.
import { ApiError, type Reply, type Request } from '../src/client/client.ts'
import { at } from './author-files.ts'
import { verb, type Context } from './command.ts'
import { confirm } from './confirm.ts'
import { dryRun, flag, text, texts } from './options.ts'
import { changesText, isUrl, takeVersion } from './skill-changes.ts'
import { lines, short } from './text.ts'
import { UsageError } from './usage.ts'

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
    'Installs a skill, or all of a collection, which enables nothing. A folder or zip is read here, and nothing of it is run.',
    'Over one that is enabled the new version is shown with what it changes, and taken into use if that is confirmed.',
  ].join('\n'),
  options: {
    skill: texts('name', 'only this one of a collection'),
    key: text('file', 'signs it with your private key'),
    'look-alike': flag('though its name looks like that of another skill; for operators'),
    yes: flag('take a new version into use without being asked', { short: 'y' }),
    ...dryRun,
  },
  async run({ args: [given], values, ...io }) {
    const { request, print } = io
    const isRehearsed = values['dry-run']
    const more = {
      ...(values['look-alike'] && { allowLookAlike: true }),
      ...(isRehearsed && { dryRun: true }),
    }
    const skills: Added[] = []
    const refused: Addition['refused'][number][] = []
    const sent = await toSent(given, values.skill ?? [], values.key)
    for (const { name, body, problem, notes = [] } of sent) {
      try {
        if (!body)
          throw new ApiError(422, { code: 'plugin_upload_invalid', message: problem ?? '' })
        const answer = await request('POST /api/operator/skills', { body: { ...body, ...more } })
        skills.push(...answer.skills.map((one) => ({ ...one, notes: [...notes, ...one.notes] })))
        refused.push(...answer.refused)
      } catch (error) {
        if (sent.length === 1 || !isRefusal(error)) throw error
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
    for (const one of isRehearsed ? [] : skills) {
      const taken = await takesOver(one, values.yes, io)
      if (!taken) continue
      updated.push(one.name)
      // It may be off now, which is among the notes.
      told.push(lines(`${one.name} has version ${one.hash.slice(0, 12)} from now on.`, taken.notes))
    }
    print({ skills, refused, ...(!isRehearsed && { updated }) }, told.join('\n\n'))
    return code
  },
})

/** A refusal of one skill, not of the caller. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && [403, 409, 413, 422].includes(error.status)

const waits = ({ notes }: Added) => notes.some((note) => note.includes('until an operator takes'))

/** Over one that is enabled a version waits: its sender is shown what it changes, and asked. */
async function takesOver(
  { changes, ...added }: Added,
  isYes: boolean | undefined,
  { request, stdin, stderr }: Pick<Context, 'request' | 'stdin' | 'stderr'>,
) {
  if (!changes || !waits({ changes, ...added })) return undefined
  if (!isYes) {
    if (!stdin.isTTY) return undefined
    stderr.write(`${changesText(added.name, changes)}\n`)
    const question = `Use this version of ${added.name} from now on?`
    if (!(await confirm(question, { stdin, stderr }))) return undefined
  }
  return takeVersion(request, added.name, added.hash)
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
