// isola plugin list|show|grant|…: installed plugins and their grants.
import type { Client } from '../src/client/client.ts'
import type { Permit } from '../src/runtime/catalog/types/permit.ts'
import { on, verb, type Context } from './command.ts'
import { agreed } from './confirm.ts'
import { dryRun, flag, text, yes, type Options } from './options.ts'
import { lineOf, listing, outcome, shown, textLine, type Plugin } from './plugin-view.ts'
import { lines, listed, short } from './text.ts'
import { UsageError } from './usage.ts'

const load = (request: Client['request'], plugin: string) =>
  request('GET /api/operator/plugins/:plugin', { params: { plugin } })

async function list({ request, print }: Context) {
  const all = await request('GET /api/operator/plugins')
  const waiting = all.plugins.filter((plugin) => plugin.waiting > 0)
  const versions = await Promise.all(
    waiting.map(async ({ id }) => {
      const { update } = await load(request, id)
      return update ? [[id, update.version] as const] : []
    }),
  )
  print(all, listing(all, Object.fromEntries(versions.flat())))
}

/** The version that would be allowed: the newest that waits, else the one that is there. */
type Asked = Plugin | NonNullable<Plugin['update']>

/** The rights that it asks for and the texts that models will read of it, shown before an operator allows it. */
const asking = (id: string, { version, tier, hash, texts, isTold, ...asked }: Asked) =>
  lines(
    `${id} ${version} (${tier}, ${hash.slice(0, 12)}) asks for${asked.lines.length === 0 ? ' nothing.' : ':'}`,
    asked.lines.map(lineOf),
    !isTold && ['It tells models of itself:', ...texts.map(textLine)],
  )

function toConfig(given: string, option: string) {
  try {
    return JSON.parse(given)
  } catch {
    throw new UsageError(`${option}: must be JSON, such as '{"unit":"metric"}'.`)
  }
}

const removeOptions = {
  purge: flag('and what it keeps outside of sessions'),
  ...dryRun,
} as const satisfies Options

export const adminVerbs = {
  list: { about: 'What is installed, and what is wrong with it.', run: list },
  show: on('GET /api/operator/plugins/:plugin', {
    usage: '<id>',
    about: 'What it asks for, what it was allowed, and its versions.',
    says: shown,
  }),
  accept: verb({
    usage: '<id> <hash>',
    about:
      'Takes a version into use that another author brought; its first 12 digits will do. One that asks for more waits until that is granted.',
    async run({ args: [id, start], request, print }) {
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
    },
  }),
  grant: verb({
    usage: '<id> [--yes] [--revoke] [--dry-run]',
    about:
      'Shows what it asks for and what it tells models, and allows exactly that, for exactly this version; one that waits is in use then. --revoke takes all of it back: what runs with it ends.',
    options: {
      ...yes,
      revoke: flag('take back all that was allowed'),
      ...dryRun,
    },
    async run({ args: [id], values, ...context }) {
      const { request, print, stderr } = context
      const { 'dry-run': isRehearsed, revoke } = values
      const params = { plugin: id }
      if (revoke && !isRehearsed) {
        const done = await request('POST /api/operator/plugins/:plugin/revoke', { params })
        return print(done, outcome(done))
      }
      const plugin = await load(request, id)
      const asked: Asked = plugin.update ?? plugin
      if (isRehearsed && revoke)
        return print(plugin, `Would be taken back, if it was allowed. ${asking(id, plugin)}`)
      if (asked === plugin && plugin.lines.length === 0 && plugin.isTold)
        return print(plugin, `${id} asks for nothing. Next: isola plugin enable ${id}`)
      if (isRehearsed) return print(plugin, `Would be allowed. ${asking(id, asked)}`)
      stderr.write(`${asking(id, asked)}\n`)
      if (!(await agreed('Allow all of this?', values.yes, context, 'allow it')))
        throw new Error('Nothing was allowed.')
      // The rights that were shown, as the server named them.
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
    },
  }),
  enable: verb({
    usage: "<id> [--config '<json>']",
    about: 'On from the next run, if it starts and what it asks for was allowed.',
    options: {
      config: text('json', 'what the plugin is told, as JSON', { read: toConfig }),
    },
    async run({ args: [id], request, print, sent }) {
      const { hash, tier } = await load(request, id)
      // Enables the version that was loaded, even if another arrives meanwhile.
      const seen = tier === 'builtin' ? {} : { hash }
      const done = await request('POST /api/operator/plugins/:plugin/enable', {
        params: { plugin: id },
        body: { ...seen, ...sent() },
      })
      print(done, outcome(done))
    },
  }),
  disable: on('POST /api/operator/plugins/:plugin/disable', {
    usage: '<id>',
    about: 'Off from the next run, and what it is doing ends.',
    says: outcome,
  }),
  history: on('GET /api/operator/generations', {
    about: 'What was enabled, newest first: the generations that rollback takes.',
    says: ({ generations }) =>
      listed(generations, 'Nothing was enabled yet.', {
        generation: 'number',
        made: 'madeAtMs',
        by: 'madeBy',
        because: 'reason',
        enabled: ({ plugins }) => plugins.map(({ id, version }) => `${id} ${version}`).join(', '),
      }),
  }),
  rollback: verb({
    usage: '[<id>]',
    about: 'Back to the version that was enabled before, or to all of an earlier generation.',
    options: {
      generation: text('number', 'all plugins, as they were then'),
    },
    async run({ args: [plugin], values: { generation }, request, print }) {
      if (generation !== undefined && plugin !== undefined)
        throw new UsageError('--generation: takes all plugins back; leave out the id.')
      if (generation !== undefined) {
        const params = { number: generation }
        const done = await request('POST /api/operator/generations/:number/restore', { params })
        return print(done, outcome(done))
      }
      if (plugin === undefined)
        throw new UsageError('Name a plugin, or an earlier generation with --generation.')
      const done = await request('POST /api/operator/plugins/:plugin/rollback', {
        params: { plugin },
      })
      print(done, outcome(done))
    },
  }),
  remove: verb({
    usage: '<id>',
    about:
      'Takes it off the list. --purge takes away too what it keeps for principals and for the deployment.',
    options: removeOptions,
    asks: ({ args: [id], values: { purge } }) =>
      `Remove ${short(id)}${purge ? ', and all that it keeps outside of sessions' : ''}?`,
    async run({ args: [id], values: { purge, 'dry-run': isRehearsed }, request, print }) {
      if (isRehearsed) {
        const plugin = await load(request, id)
        const kept = purge ? 'and all that it keeps outside of sessions' : 'what it keeps stays'
        return print(plugin, `Would be removed (${kept}):\n${shown(plugin)}`)
      }
      const done = await request('DELETE /api/operator/plugins/:plugin', {
        params: { plugin: id },
        query: purge ? { purge: 'true' } : {},
      })
      print(done, outcome(done))
    },
  }),
  doctor: verb({
    about:
      'Plugins that are off though no operator switched them off, and why. Exit code 1 if there are any.',
    /** @returns 1 if one of them is not well. */
    async run({ request, print }) {
      const { plugins: problems } = await request('GET /api/operator/health')
      const told = problems.map(
        ({ plugin, code, message }) => `${plugin}: ${short(message, 300)} (${code})`,
      )
      print({ problems }, told.join('\n') || 'Every plugin is well.')
      return problems.length > 0 ? 1 : 0
    },
  }),
} as const
