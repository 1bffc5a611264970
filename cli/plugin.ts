// isola plugin …: the verbs of its author, and of the operator.

import type { Permit } from '../src/runtime/catalog/types/permit.ts'
import { on, verb, noun } from './command.ts'
import { agree } from './confirm.ts'
import { dryRun, flag, rehearsal, text, yes, UsageError } from './options.ts'
import { lineOf, listing, outcome, shown, textLine, type Plugin } from './plugin-view.ts'
import { lines, listed, short } from './text.ts'
import { authorVerbs } from './plugin-author.ts'

// isola plugin list|show|grant|…: installed plugins and their grants.

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

const adminVerbs = {
  list: verb({
    about: 'What is installed, and what is wrong with it.',
    async run({ ask, print }) {
      const all = await ask('GET /api/operator/plugins')
      const waiting = all.plugins.filter((plugin) => plugin.waiting > 0)
      const versions = await Promise.all(
        waiting.map(async ({ id }) => {
          const { update } = await ask('GET /api/operator/plugins/:plugin', undefined, [id])
          return update ? [[id, update.version] as const] : []
        }),
      )
      print(all, listing(all, Object.fromEntries(versions.flat())))
    },
  }),
  show: on('GET /api/operator/plugins/:plugin', {
    usage: '<id>',
    about: 'What it asks for, what it was allowed, and its versions.',
    says: shown,
  }),
  accept: verb({
    usage: '<id> <hash>',
    about:
      'Takes a version into use that another author brought; its first 12 digits will do. One that asks for ' +
      'more waits until that is granted.',
    async run({ args: [id, start], ask, print }) {
      const { versions } = await ask('GET /api/operator/plugins/:plugin')
      const found = versions.filter(({ hash }) => hash.startsWith(start))
      const [first] = found
      if (first === undefined || found.length > 1 || start.length < 12)
        throw new UsageError(
          `<hash>: ${start} names ${found.length === 1 ? 'too little' : `${found.length} versions`} of ${id}; ` +
            `give 12 digits or more of one (isola plugin show ${id}).`,
        )
      const done = await ask('POST /api/operator/plugins/:plugin/accept', { hash: first.hash })
      print(done, outcome(done))
    },
  }),
  grant: verb({
    usage: '<id> [--yes] [--revoke] [--dry-run]',
    about:
      'Shows what it asks for and what it tells models, and allows exactly that, for exactly this version; ' +
      'one that waits is in use then. --revoke takes all of it back: what runs with it ends.',
    options: {
      ...yes,
      revoke: flag('take back all that was allowed'),
      ...dryRun,
    },
    async run(context) {
      const { args, values, ask, print } = context
      const [id] = args
      const { 'dry-run': isRehearsed, revoke } = values
      if (revoke && !isRehearsed) {
        const done = await ask('POST /api/operator/plugins/:plugin/revoke')
        return print(done, outcome(done))
      }
      const plugin = await ask('GET /api/operator/plugins/:plugin')
      const asked: Asked = plugin.update ?? plugin
      if (isRehearsed && revoke)
        return print(plugin, `Would be taken back, if it was allowed. ${asking(id, plugin)}`)
      if (asked === plugin && plugin.lines.length === 0 && plugin.isTold)
        return print(plugin, `${id} asks for nothing. Next: isola plugin enable ${id}`)
      if (isRehearsed) return print(plugin, `Would be allowed. ${asking(id, asked)}`)
      await agree(context, {
        text: asking(id, asked),
        question: 'Allow all of this?',
        to: 'allow it',
        otherwise: 'Nothing was allowed.',
      })
      // The rights that were shown, as the server named them.
      const permit = (asked.asks ?? {}) as unknown as Permit
      const body = { hash: asked.hash, permit, texts: true }
      const done = await ask('POST /api/operator/plugins/:plugin/grant', body)
      const { plugin: now } = done
      print(
        done,
        now?.state === 'enabled'
          ? `Allowed. ${id} ${now.version} is live: every run that begins from now on has it.`
          : `Allowed. Next: isola plugin enable ${id}`,
      )
    },
  }),
  enable: on('POST /api/operator/plugins/:plugin/enable', {
    usage: "<id> [--config '<json>']",
    about: 'On from the next run, if it starts and what it asks for was allowed.',
    options: {
      config: text('json', 'what the plugin is told, as JSON', { read: toConfig }),
    },
    async sends({ ask }) {
      const { hash, tier } = await ask('GET /api/operator/plugins/:plugin')
      // Enables the version that was loaded, even if another arrives meanwhile.
      return tier === 'builtin' ? {} : { hash }
    },
    says: outcome,
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
    async run({ args: [plugin], values: { generation }, ask, print }) {
      if (generation !== undefined && plugin !== undefined)
        throw new UsageError('--generation: takes all plugins back; leave out the id.')
      if ((generation ?? plugin) === undefined)
        throw new UsageError('Name a plugin, or an earlier generation with --generation.')
      const done =
        generation === undefined
          ? await ask('POST /api/operator/plugins/:plugin/rollback')
          : await ask('POST /api/operator/generations/:number/restore', undefined, [generation])
      print(done, outcome(done))
    },
  }),
  remove: verb({
    usage: '<id>',
    about:
      'Takes it off the list. --purge takes away too what it keeps for principals and for the deployment.',
    options: {
      purge: flag('and what it keeps outside of sessions'),
      ...rehearsal,
    },
    asks: ({ args: [id], values: { purge } }) =>
      `Remove ${short(id)}${purge ? ', and all that it keeps outside of sessions' : ''}?`,
    async run({ values: { purge, 'dry-run': isRehearsed }, ask, sent, print }) {
      if (isRehearsed) {
        const plugin = await ask('GET /api/operator/plugins/:plugin')
        const kept = purge ? 'and all that it keeps outside of sessions' : 'what it keeps stays'
        return print(plugin, `Would be removed (${kept}):\n${shown(plugin)}`)
      }
      const done = await ask('DELETE /api/operator/plugins/:plugin', sent())
      print(done, outcome(done))
    },
  }),
  doctor: verb({
    about:
      'Plugins that are off though no operator switched them off, and why. Exit code 1 if there are any.',
    /** @returns 1 if one of them is not well. */
    async run({ ask, print }) {
      const { plugins: problems } = await ask('GET /api/operator/health')
      const told = problems.map(
        ({ plugin, code, message }) => `${plugin}: ${short(message, 300)} (${code})`,
      )
      print({ problems }, told.join('\n') || 'Every plugin is well.')
      return problems.length > 0 ? 1 : 0
    },
  }),
} as const

export default noun('plugin', { ...authorVerbs, ...adminVerbs })
