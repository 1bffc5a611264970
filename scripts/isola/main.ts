// isola <noun> <verb> [options]: finds the command, reads its options, runs it, says how it went.
import { parseArgs } from 'node:util'
import { isClone } from '../toolchain.mjs'
import { commands } from './commands.ts'
import { ApiError, type Client } from '../../src/client/client.ts'
import type { Context, Env, Io, Module, Options, Verb } from './command.ts'
import { confirm } from './confirm.ts'
import { createConnection, findServer, startHint } from './connection.ts'
import { helpOf, optionsOf, overview } from './help.ts'
import { refuseKeptByNpm } from './npm-flags.ts'
import { jsonText, shown } from './text.ts'
import { ownVersion } from './version.ts'
import { countArguments, unknown, UsageError } from './usage.ts'

const help = { help: { type: 'boolean', short: 'h' } } as const satisfies Options

/** What the first words name: a command, or a noun whose verb is missing. */
interface Found {
  readonly module: Module
  readonly command?: Verb
  readonly rest: readonly string[]
}

const isNamed = ({ noun, plural = `${noun}s` }: Module, word: string) =>
  word === noun || word === plural

/** A module with `run` is a command by itself; one with `verbs` wants a verb. */
function find(modules: readonly Module[], [noun = '', verb, ...rest]: readonly string[]): Found {
  const module = modules.find((known) => isNamed(known, noun))
  if (!module) {
    const nouns = modules.map((known) => known.noun)
    throw unknown('command', noun, nouns)
  }
  const { usage, run, verbs = {} } = module
  if (usage !== undefined && run)
    return {
      module,
      command: { ...module, usage, run },
      rest: verb === undefined ? [] : [verb, ...rest],
    }
  if (verb === undefined || verb.startsWith('-'))
    return { module, rest: verb === undefined ? [] : [verb, ...rest] }
  const command = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (!command) throw unknown(`verb of ${module.noun}`, verb, Object.keys(verbs))
  return { module, command, rest }
}

/** Options and arguments of one command, checked against what it declares. */
function parse(command: Verb, argv: readonly string[]) {
  const options = { ...help, ...optionsOf(command) }
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === 'option' && !Object.hasOwn(options, token.name))
      throw unknown(
        'option',
        token.rawName,
        Object.keys(options).map((name) => `--${name}`),
      )
  }
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true })
    return { values, args: positionals }
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

function checkArguments(command: Verb, args: readonly string[]) {
  const { min, max } = countArguments(command.usage)
  if (args.length < min) throw new UsageError(`Something is missing; write: ${command.usage}`)
  if (args.length > max) throw new UsageError(`${shown(args[max])} is one argument too many.`)
}

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>
  readonly args: readonly string[]
  readonly io: Io
}

/** What an answer says is odd about what was made. */
function warningsIn(value: unknown): readonly string[] {
  const { warnings } = (value ?? {}) as { readonly warnings?: unknown }
  return Array.isArray(warnings) ? warnings.map(String) : []
}

async function runCommand(command: Verb, { values, args, io }: Parsed): Promise<number> {
  const isJson = values['json'] === true
  let connection: Client | undefined
  const connect = () => (connection ??= createConnection(findServer(io.env), io))
  const context: Context<object> = {
    ...io,
    args,
    values,
    isJson,
    connect,
    async request(route, ...given) {
      const answer = await connect().request(route, ...given)
      for (const warning of warningsIn(answer)) io.stderr.write(`Warning: ${shown(warning)}\n`)
      return answer
    },
    print: (value, text) => {
      const json = jsonText(value, 2)
      io.stdout.write(`${isJson ? json : shown(text ?? json)}\n`)
    },
  }
  // What a verb declares is what was parsed, and its usage line was counted.
  const given = context as never
  // What only says what it would do takes nothing away.
  if (command.asks && values['yes'] !== true && values['dry-run'] !== true) {
    if (!io.stdin.isTTY) throw new UsageError('Without a terminal to ask on, --yes is needed.')
    if (!(await confirm(shown(await command.asks(given)), io))) return 1
  }
  return (await command.run(given)) ?? 0
}

/** The command that a command line names, or the text that answers it. */
function read(argv: readonly string[], modules: readonly Module[]) {
  const [first] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return { text: overview(modules), code: first === undefined ? 2 : 0 }
  if (first === '--version' || first === '-V' || first === 'version')
    return { text: ownVersion(), code: 0 }
  if (first.startsWith('-')) throw new UsageError(`A command comes first, not ${first}.`)
  const { module, command, rest } = find(modules, argv)
  if (command) return { module, command, rest }
  const isAsked = rest.some((word) => word === '--help' || word === '-h')
  return { text: helpOf(module), code: isAsked ? 0 : 2 }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

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

/** What went wrong, and the exit code for it. */
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
    /** Instead of the commands there are. */
    readonly modules?: readonly Module[]
  } = {},
): Promise<number> {
  const { modules = commands, ...streams } = given
  const { env, stdin, stdout, stderr } = process
  const io: Io = { env, stdin, stdout, stderr, ...streams }
  let usage = 'isola <command>'
  try {
    const { module, command, rest, text, code } = read(argv, modules)
    if (!command) {
      io.stdout.write(`${text}\n`)
      return code
    }
    usage = command.usage
    refuseKeptByNpm(argv, { options: optionsOf(command), env: io.env })
    const { values, args } = parse(command, rest)
    if (values['help']) {
      io.stdout.write(`${helpOf(module, command)}\n`)
      return 0
    }
    checkArguments(command, args)
    if (module.needsClone && !isClone)
      throw new Error(
        `isola ${module.noun} needs a clone of the repository, which holds the Worker: run it there.`,
      )
    return await runCommand(command, { values, args, io })
  } catch (error) {
    const { text, code } = explain(error, { usage, env: io.env })
    io.stderr.write(`${shown(text)}\n`)
    return code
  }
}
