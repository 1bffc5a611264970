// isola skill add|update|enable|disable|remove: skills that are installed on the server.
import type { Client } from '../../src/client/client.ts'
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
import { add, addOptions } from './skill-add.ts'
import { changesText, isUrl, takeVersion, type Changes } from './skill-changes.ts'
import { short } from './text.ts'
import { UsageError } from './usage.ts'

const load = (request: Client['request'], skill: string) =>
  request('GET /api/operator/skills/:skill', { params: { skill } })

async function enable({
  args: [skill, start],
  request,
  print,
}: Context<object, [string, string?]>) {
  if (start !== undefined && !/^[0-9a-f]{12,64}$/.test(start))
    throw new UsageError('<hash>: must be 12 to 64 of the hex digits that isola skill show prints.')
  const { hash, versions = [] } = await load(request, skill)
  if (start !== undefined) {
    const look = `Look again (isola skill show ${skill}) and enable what you see.`
    if (!hash.startsWith(start))
      throw new Error(`<hash>: ${skill} has version ${hash.slice(0, 12)} now. ${look}`)
    // Its author can make two versions that begin alike.
    if (versions.filter((one) => one.hash.startsWith(start)).length > 1)
      throw new UsageError(
        `<hash>: ${start} names more than one version of ${skill}: all 64 digits are in its --json.`,
      )
  }
  // Without <hash> it is whichever version there is at this moment; in both cases none that arrives after it was loaded.
  const done = await request('POST /api/operator/skills/:skill/enable', {
    params: { skill },
    body: { hash },
  })
  print({ hash, ...done }, [`${skill} is enabled in version ${hash}.`, ...done.notes].join('\n'))
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
    usage: 'isola skill enable <name> [<hash>]',
    about:
      'Lets it be found and loaded: in the version of this hash (12 digits or more, as show prints them), and in no other; else in the one that it has now.',
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
