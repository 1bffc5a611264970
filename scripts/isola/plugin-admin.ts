// isola plugin list|show|grant|…: what is installed, and what it may do.
import { confirm } from './confirm.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

const path = '/api/operator/plugins'

function only(args, what) {
  if (args.length === 1) return args[0]
  throw new UsageError(`${what}: give one, there are ${args.length}.`)
}

const of = (id, what = '') => `${path}/${encodeURIComponent(id)}${what && `/${what}`}`
const post = (request, to, json = {}) => request(to, { method: 'POST', json })
export const lineOf = ({ text, amount }) =>
  `  ${short(text, 400)}${amount === undefined ? '' : amount >= Number.MAX_SAFE_INTEGER ? ': no limit' : `: ${amount}`}`

const signed = ({ signer, isSignerAccepted }) =>
  signer
    ? `, signed by ${short(signer, 80)}${isSignerAccepted ? '' : ' (a key that is not accepted any more)'}`
    : ''

function remarkOn({ missing, problem, waiting }) {
  const remarks = [
    ...(problem ? [short(problem.message)] : []),
    ...(missing.length > 0 ? [`asks for ${missing.length} more`] : []),
    ...(waiting > 0 ? [`${waiting} newer version${waiting > 1 ? 's' : ''} here`] : []),
  ]
  return remarks.join('; ')
}

function listed({ generation, plugins }) {
  const rows = plugins.map((plugin) => [
    plugin.id,
    plugin.version,
    plugin.tier,
    plugin.state,
    remarkOn(plugin),
  ])
  return `${table([['id', 'version', 'tier', 'state', ''], ...rows])}\n\nGeneration ${generation}.`
}

function shown(plugin) {
  const { id, version, tier, state, hash, manifest, lines, missing, problem, versions } = plugin
  const waits = new Set(plugin.waiting.map((one) => one.hash))
  const isMissing = new Set(missing.map(({ text }) => text))
  return [
    `${id} ${version} (${tier}) is ${state}.`,
    short(manifest?.description ?? '', 300),
    `hash ${hash}`,
    ...plugin.notes.map((note) => short(note, 1_000)),
    ...(problem ? [`It was switched off: ${short(problem.message, 300)}`] : []),
    lines.length === 0 ? 'It asks for nothing.' : 'It asks for:',
    ...lines.map(
      (line) => `${lineOf(line)}${isMissing.has(line.text) ? '   (not allowed yet)' : ''}`,
    ),
    ...(versions.length > 0 ? ['Versions:'] : []),
    ...versions.map(
      (one) =>
        `  ${one.version}  ${one.hash.slice(0, 12)}  ${one.tier}${signed(one)}  from ${short(one.source, 300)} by ${short(one.installedBy, 100)} at ${time(one.installedAtMs)}${waits.has(one.hash) ? '   (not in use)' : ''}`,
    ),
    ...(waits.size > 0
      ? [`Newer versions are not in use until one is accepted: isola plugin accept ${id} <hash>`]
      : []),
  ].join('\n')
}

/** What agents are told of it: the author's words, to be read before they reach a model. */
export function toolsOf(manifest) {
  const tools = manifest?.contributes?.tools ?? []
  const routing = manifest?.natural_language_description
  return [
    ...(routing ? [`Agents are told: ${short(routing, 300)}`] : []),
    ...(tools.length > 0 ? ['Tools:'] : []),
    ...tools.map(({ name, description }) => `  ${name}: ${short(description, 300)}`),
  ]
}

const outcome = ({ plugin, notes, generation }) =>
  [
    ...(plugin ? [`${plugin.id} ${plugin.version} is ${plugin.state}.`] : []),
    ...notes.map((note) => short(note, 1_000)),
    // What was kept of one that is gone is of no generation.
    ...(generation === undefined
      ? ['What it kept is gone.']
      : [`Generation ${generation}; it holds for every run that begins from now on.`]),
  ].join('\n')

async function isAllowed(question, { isYes }) {
  if (isYes) return true
  const { stdin, stderr } = process
  if (!stdin.isTTY)
    throw new UsageError(
      'Say --yes to allow it without being asked: there is nobody at a terminal.',
    )
  return confirm(question, { stdin, stderr })
}

function parseConfig(text) {
  if (text === undefined) return {}
  try {
    return { config: JSON.parse(text) }
  } catch {
    throw new UsageError(`--config: must be JSON, such as '{"unit":"metric"}'.`)
  }
}

const simple = (verb, about) => ({
  usage: `isola plugin ${verb} <id>`,
  about,
  options: {},
  async run({ args, request, print }) {
    const done = await post(request, of(only(args, '<id>'), verb))
    print(done, outcome(done))
  },
})

export const adminVerbs = {
  list: {
    usage: 'isola plugin list',
    about: 'What is installed, and what is wrong with it.',
    options: {},
    async run({ request, print }) {
      const all = await request(path)
      print(all, listed(all))
    },
  },
  show: {
    usage: 'isola plugin show <id>',
    about: 'What it asks for, what it was allowed, and its versions.',
    options: {},
    async run({ args, request, print }) {
      const plugin = await request(of(only(args, '<id>')))
      print(plugin, shown(plugin))
    },
  },
  accept: {
    usage: 'isola plugin accept <id> <hash>',
    about:
      'Takes a version into use that somebody else brought; its first 12 digits will do. One that asks for more is switched off until that is granted.',
    options: {},
    async run({ args, request, print }) {
      const [id, start, ...rest] = args
      if (id === undefined || start === undefined || rest.length > 0)
        throw new UsageError('Name the plugin, and the hash of one of its versions.')
      const { versions } = await request(of(id))
      const found = versions.filter(({ hash }) => hash.startsWith(start))
      if (found.length !== 1 || start.length < 12)
        throw new UsageError(
          `<hash>: ${start} names ${found.length === 1 ? 'too little' : `${found.length} versions`} of ${id}; give 12 digits or more of one (isola plugin show ${id}).`,
        )
      const done = await post(request, of(id, 'accept'), { hash: found[0].hash })
      print(done, outcome(done))
    },
  },
  grant: {
    usage: 'isola plugin grant <id> [--yes] [--revoke]',
    about:
      'Shows what it asks for and allows exactly that, for exactly this version. --revoke takes all of it back: what runs with it ends.',
    options: {
      yes: { type: 'boolean', about: 'do not ask' },
      revoke: { type: 'boolean', about: 'take back all that was allowed' },
    },
    async run({ args, values, request, print }) {
      const id = only(args, '<id>')
      if (values.revoke) {
        const done = await post(request, of(id, 'revoke'))
        return print(done, outcome(done))
      }
      const plugin = await request(of(id))
      if (plugin.lines.length === 0)
        return print(plugin, `${id} asks for nothing. Next: isola plugin enable ${id}`)
      process.stderr.write(
        `${id} ${plugin.version} (${plugin.tier}, ${plugin.hash.slice(0, 12)}) asks for:\n${plugin.lines.map(lineOf).join('\n')}\n`,
      )
      if (!(await isAllowed('Allow all of this?', { isYes: values.yes })))
        throw new Error('Nothing was allowed.')
      const done = await post(request, of(id, 'grant'), { hash: plugin.hash, permit: plugin.asks })
      print(
        done,
        `Allowed.${done.plugin?.state === 'enabled' ? '' : ` Next: isola plugin enable ${id}`}`,
      )
    },
  },
  enable: {
    usage: "isola plugin enable <id> [--config '<json>']",
    about: 'On from the next run, if it starts and what it asks for was allowed.',
    options: {
      config: { type: 'string', value: 'json', about: 'what the plugin is told, as JSON' },
    },
    async run({ args, values, request, print }) {
      const id = only(args, '<id>')
      const { hash, tier } = await request(of(id))
      // What was looked at is what is switched on, whatever arrives meanwhile.
      const seen = tier === 'builtin' ? {} : { hash }
      const done = await post(request, of(id, 'enable'), { ...seen, ...parseConfig(values.config) })
      print(done, outcome(done))
    },
  },
  disable: simple('disable', 'Off from the next run, and what it is doing ends.'),
  rollback: {
    usage: 'isola plugin rollback [<id>] [--generation <number>]',
    about: 'Back to the version that was enabled before, or to all of an earlier generation.',
    options: {
      generation: { type: 'string', value: 'number', about: 'all plugins, as they were then' },
    },
    async run({ args, values, request, print }) {
      const { generation } = values
      if (generation === undefined && args.length === 0)
        throw new UsageError('Name a plugin, or an earlier generation with --generation.')
      if (generation !== undefined && args.length > 0)
        throw new UsageError('--generation: takes all plugins back; leave out the id.')
      const to =
        generation === undefined
          ? of(only(args, '<id>'), 'rollback')
          : `/api/operator/generations/${encodeURIComponent(generation)}/restore`
      const done = await post(request, to)
      print(done, outcome(done))
    },
  },
  remove: {
    usage: 'isola plugin remove <id> [--purge]',
    about:
      'Takes it off the list. --purge takes away too what it keeps for principals and for the deployment.',
    options: { purge: { type: 'boolean', about: 'and what it keeps outside of sessions' } },
    async run({ args, values, request, print }) {
      const to = `${of(only(args, '<id>'))}${values.purge ? '?purge=true' : ''}`
      const done = await request(to, { method: 'DELETE' })
      print(done, outcome(done))
    },
  },
  doctor: {
    usage: 'isola plugin doctor',
    about:
      'Plugins that are off though nobody switched them off, and why. Exit code 1 if there are any.',
    options: {},
    async run({ request, print }) {
      const { plugins: problems } = await request('/api/operator/health')
      const lines = problems.map(
        ({ plugin, code, message }) => `${plugin}: ${short(message, 300)} (${code})`,
      )
      print({ problems }, lines.length === 0 ? 'Every plugin is well.' : lines.join('\n'))
      return problems.length > 0 ? 1 : 0
    },
  },
}
