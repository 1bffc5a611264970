// isola skill add|update|enable|disable|remove: skills that are installed on the server.
import { resolve } from 'node:path'
import { ApiError, type Client, type Reply, type Request } from '../../src/client/client.ts'
import {
  defineVerbs,
  dryRun,
  type Context,
  type Io,
  type Options,
  type ValuesOf,
} from './command.ts'
import { confirm } from './confirm.ts'
import { only } from './only.ts'
import { short } from './text.ts'
import { UsageError } from './usage.ts'

/** npm runs us in the clone's folder: what is relative is so to where its user stands. */
const at = (given: string) => resolve(process.env['INIT_CWD'] ?? '.', given)

type Body = Exclude<Request<'POST /api/operator/skills'>['body'], Blob>
type Addition = Reply<'POST /api/operator/skills'>
type Added = Addition['skills'][number]
type Changes = NonNullable<Added['changes']>

const addOptions = {
  skill: { type: 'string', multiple: true, value: 'name', about: 'only this one of a collection' },
  key: { type: 'string', value: 'file', about: 'signs it with your private key' },
  'look-alike': {
    type: 'boolean',
    about: 'though its name looks like that of another skill; for operators',
  },
  yes: { type: 'boolean', short: 'y', about: 'take a new version into use without being asked' },
  ...dryRun,
} as const satisfies Options

/** What is sent of one skill, or what is wrong with it. */
interface Sent {
  readonly name: string
  readonly body?: Body
  readonly problem?: string | undefined
  readonly notes?: readonly string[] | undefined
}

const isUrl = (given: string) => /^https?:\/\//.test(given)

/** One request for each skill that is read here, so that each may be as large as it may be. */
async function toSent(
  given: string,
  only: readonly string[],
  key?: string,
): Promise<readonly Sent[]> {
  if (isUrl(given) && key !== undefined)
    throw new UsageError('--key: what is signed is read here; give a folder or a zip.')
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

async function add({
  args: [given],
  values,
  ...io
}: Context<ValuesOf<typeof addOptions>, [string]>) {
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
      if (!body) throw new ApiError(422, { code: 'plugin_upload_invalid', message: problem ?? '' })
      const answer = await request('POST /api/operator/skills', { body: { ...body, ...more } })
      skills.push(...answer.skills.map((one) => ({ ...one, notes: [...notes, ...one.notes] })))
      refused.push(...answer.refused)
    } catch (error) {
      if (sent.length === 1 || !isRefusal(error)) throw error
      refused.push({ name, code: error.code, message: error.message })
    }
  }
  const text = [
    ...skills.map((one) => told(one, isRehearsed)),
    ...refused.map(({ name, message }) => `${name} is refused: ${short(message, 1_000)}`),
  ]
  if (isRehearsed) print({ skills, refused }, text.join('\n\n'))
  else {
    const updated: string[] = []
    for (const one of skills) if (await takesOver(one, values.yes, io)) updated.push(one.name)
    const last = updated.length > 0 ? [`In use from now on: ${updated.join(', ')}.`] : []
    print({ skills, refused, updated }, [...text, ...last].join('\n\n'))
  }
  return refused.length > 0 ? 1 : 0
}

/** Of one skill, not of whoever asks. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && [403, 409, 413, 422].includes(error.status)

const waits = ({ notes }: Added) => notes.some((note) => note.includes('until an operator takes'))

/** Over one that is enabled a version waits: whoever adds it is shown what it changes, and asked. */
async function takesOver(
  { changes, ...added }: Added,
  isYes: boolean | undefined,
  { request, stdin, stderr }: Pick<Context, 'request' | 'stdin' | 'stderr'>,
) {
  if (!changes || !waits({ changes, ...added })) return false
  if (!isYes && !stdin.isTTY) return false
  if (!isYes) stderr.write(`${changesText(added.name, changes)}\n`)
  if (
    !isYes &&
    !(await confirm(`Use this version of ${added.name} from now on?`, { stdin, stderr }))
  )
    return false
  await takeVersion(request, added.name, added.hash)
  return true
}

const takeVersion = (request: Client['request'], skill: string, hash: string) =>
  request('POST /api/operator/skills/:skill/update', { params: { skill }, body: { hash } })

function told(
  { name, tier, hash, description, requires, files, notes, changes }: Added,
  isRehearsed = false,
) {
  return [
    `${name} (${tier}, ${hash.slice(0, 12)})${isRehearsed ? ' would be installed.' : ' is installed.'}`,
    `  ${short(description, 1_024)}`,
    ...(requires.length > 0 ? [`  requires ${requires.join(', ')}`] : []),
    ...(files.length > 0 ? [`  files: ${files.join(', ')}`] : []),
    ...(changes ? [changesText(name, changes)] : []),
    ...notes.map((note) => `  note: ${short(note, 1_000)}`),
    ...(isRehearsed || changes ? [] : [`  Next: isola skill enable ${name}`]),
  ].join('\n')
}

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
      ...file.lines.map((line) => `    ${short(line, 200)}`),
    ]),
  ]
  return [
    `${name}, compared with ${from.slice(0, 12)}:`,
    ...(lines.length > 0 ? lines : ['  nothing']),
  ].join('\n')
}

const load = (request: Client['request'], skill: string) =>
  request('GET /api/operator/skills/:skill', { params: { skill } })

async function enable({ args, request, print }: Context) {
  const skill = only(args, '<name>')
  const { hash } = await load(request, skill)
  // What was looked at is what is switched on, whatever arrives meanwhile.
  const done = await request('POST /api/operator/skills/:skill/enable', {
    params: { skill },
    body: { hash },
  })
  print(done, [`${skill} is enabled (${hash.slice(0, 12)}).`, ...done.notes].join('\n'))
}

async function disable({ args, request, print }: Context) {
  const skill = only(args, '<name>')
  const done = await request('POST /api/operator/skills/:skill/disable', { params: { skill } })
  print(done, [`${skill} is disabled.`, ...done.notes].join('\n'))
}

const updateOptions = {
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
  ...dryRun,
} as const satisfies Options

/** A version that may be taken, and what it changes. */
interface Next {
  readonly hash: string
  readonly changes: Changes
  /** Where it is not on the server yet. */
  readonly url?: string
}

async function update({
  args: [skill, start],
  values,
  request,
  print,
  stdin,
  stderr,
}: Context<ValuesOf<typeof updateOptions>, [string, string?]>) {
  const next = await nextOf(request, skill, start)
  const { hash, changes, url } = next
  const text = changesText(skill, changes)
  if (values['dry-run']) return print(next, text)
  stderr.write(`${text}\n`)
  const question = `Use this version of ${skill} from now on?`
  if (!(await isAllowed(question, { isYes: values.yes, stdin, stderr })))
    throw new Error('Nothing was changed.')
  // What is there now may be another than was shown: that one is then not known by this hash.
  if (url !== undefined)
    await request('POST /api/operator/skills', { body: { url, skills: [skill] } })
  const done = await takeVersion(request, skill, hash)
  const said = `${skill} has version ${hash.slice(0, 12)} from now on.`
  print(done, [said, ...done.notes].join('\n'))
}

/** The version of a hash; else the newest that waits; else what is there now where it came from. */
async function nextOf(request: Client['request'], skill: string, start?: string): Promise<Next> {
  const { hash: has, source = '', versions = [] } = await load(request, skill)
  const others = versions.filter(({ hash }) => hash !== has)
  const waiting = versions.slice(
    0,
    Math.max(
      0,
      versions.findIndex(({ hash }) => hash === has),
    ),
  )
  const found =
    start === undefined ? waiting.slice(0, 1) : others.filter(({ hash }) => hash.startsWith(start))
  const [one] = found
  if (one && found.length === 1) {
    const body = { hash: one.hash, dryRun: true }
    const params = { skill }
    return request('POST /api/operator/skills/:skill/update', { params, body })
  }
  if (start !== undefined)
    throw new UsageError(
      `<hash>: ${start} names ${found.length} of the other versions of ${skill}.`,
    )
  if (!isUrl(source))
    throw new Error(`Nothing waits for ${skill}: isola skill add <folder> brings a version.`)
  const body = { url: source, skills: [skill], dryRun: true }
  const { skills, refused } = await request('POST /api/operator/skills', { body })
  const [fetched] = skills
  if (!fetched?.changes)
    throw new Error(refused[0]?.message ?? `${source} has no ${skill} any more.`)
  if (fetched.hash === has) throw new Error(`${skill} is as it is at ${source}.`)
  return { hash: fetched.hash, changes: fetched.changes, url: source }
}

async function isAllowed(
  question: string,
  { isYes, ...io }: Pick<Io, 'stdin' | 'stderr'> & { readonly isYes: boolean | undefined },
) {
  if (isYes) return true
  if (!io.stdin.isTTY)
    throw new UsageError('Say --yes to do it without being asked: there is nobody at a terminal.')
  return confirm(question, io)
}

async function remove({ args, values, request, print }: Context<ValuesOf<typeof dryRun>>) {
  const skill = only(args, '<name>')
  if (values['dry-run']) return print(await load(request, skill), `Would be removed: ${skill}`)
  const done = await request('DELETE /api/operator/skills/:skill', { params: { skill } })
  print(done, [`${skill} is gone.`, ...done.notes].join('\n'))
}

export const adminVerbs = defineVerbs({
  add: {
    usage:
      'isola skill add <folder, .zip or URL> [--skill <name>…] [--key <file>] [--look-alike] [--yes] [--dry-run]',
    about: [
      'Installs a skill, or all of a collection, which enables nothing. A folder or zip is read here, and nothing of it is run.',
      'Over one that is enabled the new version is shown with what it changes, and taken into use if that is confirmed.',
    ].join('\n'),
    options: addOptions,
    run: add,
  },
  enable: {
    usage: 'isola skill enable <name>',
    about: 'Lets it be found and loaded, in the version that it has now.',
    run: enable,
  },
  disable: {
    usage: 'isola skill disable <name>',
    about: 'It is not found and not loaded any more.',
    run: disable,
  },
  update: {
    usage: 'isola skill update <name> [<hash>] [--yes] [--dry-run]',
    about:
      'Shows what a version that waits changes, and takes it into use; the newest, or that of a hash. One that came from an address is looked for there.',
    options: updateOptions,
    run: update,
  },
  remove: {
    usage: 'isola skill remove <name> [--yes] [--dry-run]',
    about: 'Takes it off the list.',
    options: dryRun,
    asks: ({ args: [name] }: Context<ValuesOf<typeof dryRun>, [string]>) =>
      `Remove the skill ${short(name)}?`,
    run: remove,
  },
})
