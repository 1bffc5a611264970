// isola skill add|update|enable|disable|remove: skills that are installed on the server.
import { on, verb, type Context } from './command.ts'
import { agree } from './confirm.ts'
import { dryRun, rehearsal, yes, UsageError } from './options.ts'
import { add, changesText, isUrl, type Changes } from './skill-add.ts'
import { lines } from './text.ts'

/**
 * The version of a hash; else the newest that waits; else what is there now where it came from: not on the server yet.
 */
async function nextOf(
  { ask }: Pick<Context, 'ask'>,
  skill: string,
  start?: string,
): Promise<{ readonly hash: string; readonly changes: Changes; readonly url?: string }> {
  const { hash: has, source = '', versions = [] } = await ask('GET /api/operator/skills/:skill')
  const others = versions.filter(({ hash }) => hash !== has)
  const at = versions.findIndex(({ hash }) => hash === has)
  const found =
    start === undefined
      ? versions.slice(0, Math.max(0, at)).slice(0, 1)
      : others.filter(({ hash }) => hash.startsWith(start))
  const [one] = found
  if (one && found.length === 1)
    return ask('POST /api/operator/skills/:skill/update', { hash: one.hash, dryRun: true })
  if (start !== undefined)
    throw new UsageError(
      `<hash>: ${start} names ${found.length} of the other versions of ${skill}.`,
    )
  if (!isUrl(source))
    throw new Error(`Nothing waits for ${skill}: isola skill add <folder> brings a version.`)
  const body = { url: source, skills: [skill], dryRun: true }
  const { skills, refused } = await ask('POST /api/operator/skills', body)
  const [fetched] = skills
  if (!fetched?.changes)
    throw new Error(refused[0]?.message ?? `${source} has no ${skill} any more.`)
  if (fetched.hash === has) throw new Error(`${skill} is as it is at ${source}.`)
  return { hash: fetched.hash, changes: fetched.changes, url: source }
}

export const adminVerbs = {
  add,
  enable: verb({
    usage: '<name> [<hash>]',
    about:
      'Lets it be found and loaded: in the version of this hash (12 digits or more, as show prints them), and ' +
      'in no other; else in the one that it has now.',
    async run({ args: [skill, start], ask, print }) {
      if (start !== undefined && !/^[0-9a-f]{12,64}$/.test(start))
        throw new UsageError(
          '<hash>: must be 12 to 64 of the hex digits that isola skill show prints.',
        )
      const { hash, versions = [] } = await ask('GET /api/operator/skills/:skill')
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
      // Without <hash> it is whichever version there is at this moment; in both cases none that arrives after it was
      // loaded.
      const done = await ask('POST /api/operator/skills/:skill/enable', { hash })
      print({ hash, ...done }, lines(`${skill} is enabled in version ${hash}.`, done.notes))
    },
  }),
  disable: on('POST /api/operator/skills/:skill/disable', {
    usage: '<name>',
    about: 'It is not found and not loaded any more.',
    says: ({ notes }, { args: [skill] }) => lines(`${skill} is disabled.`, notes),
  }),
  update: verb({
    usage: '<name> [<hash>] [--yes] [--dry-run]',
    about:
      'Shows what a version that waits changes, and takes it into use; the newest, or that of a hash. One ' +
      'that came from an address is looked for there.',
    options: { ...yes, ...dryRun },
    async run(context) {
      const { args, values, ask, print } = context
      const [skill, start] = args
      const next = await nextOf(context, skill, start)
      const { hash, changes, url } = next
      const text = changesText(skill, changes)
      if (values['dry-run']) return print(next, text)
      await agree(context, {
        text,
        question: `Use this version of ${skill} from now on?`,
        to: 'do it',
        otherwise: 'Nothing was changed.',
      })
      // The address may have another version by now, which this hash does not name: it is then refused.
      if (url !== undefined) await ask('POST /api/operator/skills', { url, skills: [skill] })
      const done = await ask('POST /api/operator/skills/:skill/update', { hash })
      print(done, lines(`${skill} has version ${hash.slice(0, 12)} from now on.`, done.notes))
    },
  }),
  remove: on('DELETE /api/operator/skills/:skill', {
    usage: '<name>',
    about: 'Takes it off the list.',
    options: rehearsal,
    asks: (name) => `Remove the skill ${name}?`,
    says: ({ notes }, { args: [skill] }) => lines(`${skill} is gone.`, notes),
    would: (_skill, { args: [skill = ''] }) => `Would be removed: ${skill}`,
    reads: 'GET /api/operator/skills/:skill',
  }),
} as const
