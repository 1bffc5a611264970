// isola plugin list|show|grant|…: what is installed, and what it may do.
import type { Client } from '../../src/client/client.ts'
import type { Permit } from '../../src/contracts/manifest/permit.ts'
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
import { lineOf, listed, outcome, shown, textLine, type Plugin } from './plugin-view.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

const load = (request: Client['request'], plugin: string) =>
  request('GET /api/operator/plugins/:plugin', { params: { plugin } })

async function isAllowed(
  question: string,
  { isYes, ...io }: Pick<Io, 'stdin' | 'stderr'> & { readonly isYes: boolean | undefined },
) {
  if (isYes) return true
  if (!io.stdin.isTTY)
    throw new UsageError(
      'Say --yes to allow it without being asked: there is nobody at a terminal.',
    )
  return confirm(question, io)
}

function parseConfig(text: string | undefined) {
  if (text === undefined) return {}
  try {
    return { config: JSON.parse(text) }
  } catch {
    throw new UsageError(`--config: must be JSON, such as '{"unit":"metric"}'.`)
  }
}

async function accept({
  args: [id, start, ...rest],
  request,
  print,
}: Context<object, readonly string[]>) {
  if (id === undefined || start === undefined || rest.length > 0)
    throw new UsageError('Name the plugin, and the hash of one of its versions.')
  const { versions } = await load(request, id)
  const found = versions.filter(({ hash }) => hash.startsWith(start))
  const [first] = found
  if (first === undefined || found.length > 1 || start.length < 12)
    throw new UsageError(
      `<hash>: ${start} names ${found.length === 1 ? 'too little' : `${found.length} versions`} of ${id}; give 12 digits or more of one (isola plugin show ${id}).`,
    )
  const body = { hash: first.hash }
  const params = { plugin: id }
  const done = await request('POST /api/operator/plugins/:plugin/accept', { params, body })
  print(done, outcome(done))
}

const grantOptions = {
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
  revoke: { type: 'boolean', about: 'take back all that was allowed' },
  ...dryRun,
} as const satisfies Options

/** The version that would be allowed: the newest that waits, else the one that is there. */
type Asked = Plugin | NonNullable<Plugin['update']>

/** What it asks for, and what models will read of it, said before an operator allows it. */
const asking = (id: string, { version, tier, hash, lines, texts, isTold }: Asked) =>
  [
    `${id} ${version} (${tier}, ${hash.slice(0, 12)}) asks for${lines.length === 0 ? ' nothing.' : ':'}`,
    ...lines.map(lineOf),
    ...(isTold ? [] : ['It tells models of itself:', ...texts.map(textLine)]),
  ].join('\n')

async function grant({
  args,
  values,
  request,
  print,
  stdin,
  stderr,
}: Context<ValuesOf<typeof grantOptions>>) {
  const id = only(args, '<id>')
  const params = { plugin: id }
  const isRehearsed = values['dry-run']
  if (values.revoke && !isRehearsed) {
    const done = await request('POST /api/operator/plugins/:plugin/revoke', { params })
    return print(done, outcome(done))
  }
  const plugin = await load(request, id)
  const asked: Asked = plugin.update ?? plugin
  if (isRehearsed && values.revoke)
    return print(plugin, `Would be taken back, if it was allowed. ${asking(id, plugin)}`)
  if (asked === plugin && plugin.lines.length === 0 && plugin.isTold)
    return print(plugin, `${id} asks for nothing. Next: isola plugin enable ${id}`)
  if (isRehearsed) return print(plugin, `Would be allowed. ${asking(id, asked)}`)
  stderr.write(`${asking(id, asked)}\n`)
  if (!(await isAllowed('Allow all of this?', { isYes: values.yes, stdin, stderr })))
    throw new Error('Nothing was allowed.')
  // What was shown, as the server said it.
  const permit = (asked.asks ?? {}) as unknown as Permit
  const body = { hash: asked.hash, permit, texts: true }
  const done = await request('POST /api/operator/plugins/:plugin/grant', { params, body })
  const { plugin: now } = done
  print(
    done,
    now?.state === 'enabled'
      ? `Allowed. ${id} ${now.version} is live: every run that begins from now on has it.`
      : `Allowed. Next: isola plugin enable ${id}`,
  )
}

const enableOptions = {
  config: { type: 'string', value: 'json', about: 'what the plugin is told, as JSON' },
} as const satisfies Options

async function enable({ args, values, request, print }: Context<ValuesOf<typeof enableOptions>>) {
  const id = only(args, '<id>')
  const { hash, tier } = await load(request, id)
  // What was looked at is what is switched on, whatever arrives meanwhile.
  const seen = tier === 'builtin' ? {} : { hash }
  const done = await request('POST /api/operator/plugins/:plugin/enable', {
    params: { plugin: id },
    body: { ...seen, ...parseConfig(values.config) },
  })
  print(done, outcome(done))
}

async function disable({ args, request, print }: Context) {
  const params = { plugin: only(args, '<id>') }
  const done = await request('POST /api/operator/plugins/:plugin/disable', { params })
  print(done, outcome(done))
}

const rollbackOptions = {
  generation: { type: 'string', value: 'number', about: 'all plugins, as they were then' },
} as const satisfies Options

async function rollback({
  args,
  values: { generation },
  request,
  print,
}: Context<ValuesOf<typeof rollbackOptions>>) {
  if (generation === undefined && args.length === 0)
    throw new UsageError('Name a plugin, or an earlier generation with --generation.')
  if (generation !== undefined && args.length > 0)
    throw new UsageError('--generation: takes all plugins back; leave out the id.')
  const done =
    generation === undefined
      ? await request('POST /api/operator/plugins/:plugin/rollback', {
          params: { plugin: only(args, '<id>') },
        })
      : await request('POST /api/operator/generations/:number/restore', {
          params: { number: generation },
        })
  print(done, outcome(done))
}

/** Which generations `rollback --generation` may name. */
async function history({ request, print }: Context) {
  const answer = await request('GET /api/operator/generations')
  const rows = answer.generations.map(({ number, reason, madeBy, madeAtMs, plugins }) => [
    number,
    time(madeAtMs),
    madeBy,
    reason,
    plugins.map(({ id, version }) => `${id} ${version}`).join(', '),
  ])
  const head = ['generation', 'made', 'by', 'because', 'enabled']
  print(answer, rows.length === 0 ? 'Nothing was enabled yet.' : table([head, ...rows]))
}

const removeOptions = {
  purge: { type: 'boolean', about: 'and what it keeps outside of sessions' },
  ...dryRun,
} as const satisfies Options

async function remove({ args, values, request, print }: Context<ValuesOf<typeof removeOptions>>) {
  const id = only(args, '<id>')
  const { purge } = values
  if (values['dry-run']) {
    const plugin = await load(request, id)
    const kept = purge ? 'and all that it keeps outside of sessions' : 'what it keeps stays'
    return print(plugin, `Would be removed (${kept}):\n${shown(plugin)}`)
  }
  const done = await request('DELETE /api/operator/plugins/:plugin', {
    params: { plugin: id },
    query: purge ? { purge: 'true' } : {},
  })
  print(done, outcome(done))
}

/** @returns 1 if one of them is not well. */
async function doctor({ request, print }: Context) {
  const { plugins: problems } = await request('GET /api/operator/health')
  const lines = problems.map(
    ({ plugin, code, message }) => `${plugin}: ${short(message, 300)} (${code})`,
  )
  print({ problems }, lines.length === 0 ? 'Every plugin is well.' : lines.join('\n'))
  return problems.length > 0 ? 1 : 0
}

export const adminVerbs = defineVerbs({
  list: {
    usage: 'isola plugin list',
    about: 'What is installed, and what is wrong with it.',
    async run({ request, print }) {
      const all = await request('GET /api/operator/plugins')
      const waiting = all.plugins.filter((plugin) => plugin.waiting > 0)
      const versions = await Promise.all(
        waiting.map(async ({ id }) => {
          const { update } = await load(request, id)
          return update ? [[id, update.version] as const] : []
        }),
      )
      print(all, listed(all, Object.fromEntries(versions.flat())))
    },
  },
  show: {
    usage: 'isola plugin show <id>',
    about: 'What it asks for, what it was allowed, and its versions.',
    async run({ args, request, print }) {
      const plugin = await load(request, only(args, '<id>'))
      print(plugin, shown(plugin))
    },
  },
  accept: {
    usage: 'isola plugin accept <id> <hash>',
    about:
      'Takes a version into use that somebody else brought; its first 12 digits will do. One that asks for more waits until that is granted.',
    run: accept,
  },
  grant: {
    usage: 'isola plugin grant <id> [--yes] [--revoke] [--dry-run]',
    about:
      'Shows what it asks for and what it tells models, and allows exactly that, for exactly this version; one that waits is in use then. --revoke takes all of it back: what runs with it ends.',
    options: grantOptions,
    run: grant,
  },
  enable: {
    usage: "isola plugin enable <id> [--config '<json>']",
    about: 'On from the next run, if it starts and what it asks for was allowed.',
    options: enableOptions,
    run: enable,
  },
  disable: {
    usage: 'isola plugin disable <id>',
    about: 'Off from the next run, and what it is doing ends.',
    run: disable,
  },
  history: {
    usage: 'isola plugin history',
    about: 'What was enabled, newest first: the generations that rollback takes.',
    run: history,
  },
  rollback: {
    usage: 'isola plugin rollback [<id>] [--generation <number>]',
    about: 'Back to the version that was enabled before, or to all of an earlier generation.',
    options: rollbackOptions,
    run: rollback,
  },
  remove: {
    usage: 'isola plugin remove <id> [--purge] [--yes] [--dry-run]',
    about:
      'Takes it off the list. --purge takes away too what it keeps for principals and for the deployment.',
    options: removeOptions,
    asks: ({ args: [id], values: { purge } }: Context<ValuesOf<typeof removeOptions>, [string]>) =>
      `Remove ${short(id)}${purge ? ', and all that it keeps outside of sessions' : ''}?`,
    run: remove,
  },
  doctor: {
    usage: 'isola plugin doctor',
    about:
      'Plugins that are off though nobody switched them off, and why. Exit code 1 if there are any.',
    run: doctor,
  },
})
