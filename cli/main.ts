// isola <noun> <verb> [options]: finds the command, reads its options, runs it, says how it ended.
import { Command, CommanderError, Option as ParsedOption } from 'commander'
import { isClone } from '../scripts/toolchain.mjs'
import { ApiError, type Client } from '../src/client/client.ts'
import { commands } from './commands.ts'
import { createAsk, type Context, type Env, type Io, type Module, type Verb } from './command.ts'
import { confirm } from './confirm.ts'
import { createConnection, findServer, startHint, ownVersion } from './connection.ts'
import { helpOf, optionsOf, overview } from './help.ts'
import { refuseKeptByNpm } from './npm-flags.ts'
import {
  flag,
  sentOf,
  type Option,
  type Options,
  countArguments,
  unknown,
  UsageError,
} from './options.ts'
import { jsonText, messageOf, shown } from './text.ts'

/** The command that the first words name; without a verb, a noun whose verb is missing. */
function find(modules: readonly Module[], [first = '', ...rest]: readonly string[]) {
  const module = modules.find(({ noun, plural = `${noun}s` }) => first === noun || first === plural)
  if (!module) {
    const nouns = modules.map(({ noun }) => noun)
    throw unknown('command', first, nouns)
  }
  const { usage, run, verbs = {} } = module
  if (usage !== undefined && run) return { module, verb: { ...module, usage, run }, rest }
  const [word] = rest
  if (word === undefined || word.startsWith('-')) return { module, rest }
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (!verb) throw unknown(`verb of ${module.noun}`, word, Object.keys(verbs))
  return { module, verb, rest: rest.slice(1) }
}

/** An option as commander reads it: an option that may be repeated is a list, and no option is the value of another. */
function toParsed(name: string, { type, short, multiple }: Option, all: Options): ParsedOption {
  const flags = `${short ? `-${short}, ` : ''}--${name}`
  if (type === 'boolean') return new ParsedOption(flags)
  return new ParsedOption(`${flags} <value>`).argParser(
    (given: string, before: unknown): unknown => {
      if (given.startsWith('--') && Object.hasOwn(all, given.slice(2)))
        throw new UsageError(`option '--${name}' argument missing`)
      return multiple ? [...(Array.isArray(before) ? before : []), given] : given
    },
  )
}

/** Options and arguments of one command line, checked against what the verb declares. */
function parse(verb: Verb, argv: readonly string[]) {
  const all = { help: flag('', { short: 'h' }), ...optionsOf(verb) }
  const parsed = Object.entries(all).map(([name, option]) => toParsed(name, option, all))
  const parser = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .helpOption(false)
    .argument('[args...]')
  for (const option of parsed) parser.addOption(option)
  try {
    parser.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const [, word = ''] = /'(.*?)[=']/.exec(error.message) ?? []
    const names = Object.keys(all).map((name) => `--${name}`)
    if (error.code === 'commander.unknownOption') throw unknown('option', word, names)
    throw new UsageError(error.message.replace(/^error: /, ''))
  }
  const values = parsed.flatMap((option) => {
    const name = option.attributeName()
    const isGiven = parser.getOptionValueSource(name) === 'cli'
    // `--no-limit` is a flag of its own here.
    return isGiven ? [[option.name(), option.negate || parser.getOptionValue(name)]] : []
  })
  return { values: Object.fromEntries(values) as Record<string, unknown>, args: parser.args }
}

function checkArguments(verb: Verb, args: readonly string[]) {
  const { min, max } = countArguments(verb.usage)
  if (args.length < min) throw new UsageError(`Something is missing; write: ${verb.usage}`)
  if (args.length > max) throw new UsageError(`${shown(args[max])} is one argument too many.`)
}

/** The warnings of an answer. */
const warningsIn = (value: unknown): readonly unknown[] =>
  [Object(value).warnings].filter(Array.isArray).flat()

async function runVerb(
  verb: Verb,
  { values, args }: ReturnType<typeof parse>,
  io: Io,
): Promise<number> {
  const isJson = values['json'] === true
  let connection: Client | undefined
  const connect = () => (connection ??= createConnection(findServer(io.env), io))
  const request: Client['request'] = async (route, ...given) => {
    const answer = await connect().request(route, ...given)
    for (const warning of warningsIn(answer)) io.stderr.write(`Warning: ${shown(warning)}\n`)
    return answer
  }
  const context: Context = {
    ...io,
    args,
    values,
    sent: () => sentOf(verb.options ?? {}, values),
    isJson,
    connect,
    request,
    ask: createAsk(request, args),
    print: (value, text) => {
      const json = jsonText(value, 2)
      io.stdout.write(`${isJson ? json : shown(text ?? json)}\n`)
    },
  }
  // The options that the verb declares were parsed, and its usage line was counted.
  const given = context as never
  // A rehearsal takes nothing away.
  if (verb.asks && values['yes'] !== true && values['dry-run'] !== true) {
    if (!io.stdin.isTTY) throw new UsageError('Without a terminal to ask on, --yes is needed.')
    if (!(await confirm(shown(await verb.asks(given)), io))) return 1
  }
  return (await verb.run(given)) ?? 0
}

/** The verb that a command line names, or the text that answers it. */
function read(argv: readonly string[], modules: readonly Module[]) {
  const [first] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return { text: overview(modules), code: first === undefined ? 2 : 0 }
  if (first === '--version' || first === '-V' || first === 'version')
    return { text: ownVersion(), code: 0 }
  if (first.startsWith('-')) throw new UsageError(`A command comes first, not ${first}.`)
  const { module, verb, rest } = find(modules, argv)
  if (verb) return { module, verb, rest }
  const isAsked = rest.some((word) => word === '--help' || word === '-h')
  return { text: helpOf(module), code: isAsked ? 0 : 2 }
}

function isLocalServer(env: Env) {
  try {
    return findServer(env).isLocal
  } catch {
    return false
  }
}

/** The server names a route where a person at a terminal has a command. */
const inCommands = (message: string) =>
  message.replace(
    'GET /v1/models lists them',
    message.startsWith('agent:')
      ? 'isola agent list shows them'
      : 'isola agent list and isola model list show them',
  )

/** The text of a failure, and its exit code. */
function explain(error: unknown, { usage, env }: { readonly usage: string; readonly env: Env }) {
  const message = inCommands(messageOf(error))
  if (error instanceof UsageError)
    return { text: `${message}\nusage: ${usage} (--help tells more)`, code: 2 }
  const { code, param }: Partial<ApiError> = error instanceof ApiError ? error : {}
  // The server names the field in its message, mostly.
  const field = param !== undefined && !message.includes(param) ? ` (${param})` : ''
  const hint = code === 'no_answer' && isLocalServer(env) ? ` ${startHint}` : ''
  return { text: `isola: ${message}${field}${hint}`, code: 1 }
}

/**
 * Runs one command line.
 * @returns The exit code: 0, 1 if it failed, 2 if the command line is wrong, 3 where a run waits for a person.
 */
export async function main(
  argv: readonly string[],
  given: Partial<Io> & {
    /** In place of all commands. */
    readonly modules?: readonly Module[]
  } = {},
): Promise<number> {
  const { modules = commands, ...streams } = given
  const { env, stdin, stdout, stderr } = process
  const io: Io = { env, stdin, stdout, stderr, ...streams }
  let usage = 'isola <command>'
  try {
    const { module, verb, rest, text, code } = read(argv, modules)
    if (!verb) {
      io.stdout.write(`${text}\n`)
      return code
    }
    usage = verb.usage
    refuseKeptByNpm(argv, { options: optionsOf(verb), env: io.env })
    const { values, args } = parse(verb, rest)
    if (values['help']) {
      io.stdout.write(`${helpOf(module, verb)}\n`)
      return 0
    }
    checkArguments(verb, args)
    if (module.needsClone && !isClone)
      throw new Error(
        `isola ${module.noun} needs a clone of the repository, which holds the Worker: run it there.`,
      )
    return await runVerb(verb, { values, args }, io)
  } catch (error) {
    const { text, code } = explain(error, { usage, env: io.env })
    io.stderr.write(`${shown(text)}\n`)
    return code
  }
}
