// isola <noun> <verb> [options]: finds the command, reads its options, runs it, says how it went.
import { parseArgs } from 'node:util'
import { isClone } from '../toolchain.mjs'
import { commands } from './commands.ts'
import { createConnection, findServer } from './connection.ts'
import { helpOf, overview } from './help.ts'
import { refuseKeptByNpm } from './npm-flags.ts'
import { shown } from './text.ts'
import { countArguments, unknown, UsageError } from './usage.ts'

const common = { help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' } }

/** The command that the first words name. A module with `run` is a command by itself; one with `verbs` wants a verb. */
function find(modules, [noun, verb, ...rest]) {
  const module = modules.find((known) => known.noun === noun || `${known.noun}s` === noun)
  if (!module) {
    const nouns = modules.map((known) => known.noun)
    throw unknown('command', noun, nouns)
  }
  if (module.run)
    return { module, command: module, rest: verb === undefined ? [] : [verb, ...rest] }
  if (verb === undefined || verb.startsWith('-'))
    return { module, rest: [verb, ...rest].filter(Boolean) }
  const command = Object.hasOwn(module.verbs, verb) ? module.verbs[verb] : undefined
  if (!command) throw unknown(`verb of ${module.noun}`, verb, Object.keys(module.verbs))
  return { module, command, rest }
}

/** Options and arguments of one command, checked against what it declares. */
function parse(command, argv) {
  const options = { ...common, ...command.options }
  const { tokens } = parseArgs({
    args: argv,
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
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true })
    return { values, args: positionals }
  } catch (error) {
    throw new UsageError(error.message)
  }
}

function checkArguments(command, args) {
  const { min, max } = countArguments(command.usage)
  if (args.length < min) throw new UsageError(`Something is missing; write: ${command.usage}`)
  if (args.length > max) throw new UsageError(`${shown(args[max])} is one argument too many.`)
}

async function runCommand(command, { values, args, io }) {
  const isJson = values.json === true
  const write = (text) => io.stdout.write(`${text}\n`)
  let connection
  const connect = () => (connection ??= createConnection(findServer(io.env), io))
  const code = await command.run({
    ...io,
    args,
    values,
    isJson,
    connect,
    request: (path, options) => connect().request(path, options),
    print: (value, text) =>
      write(
        isJson ? JSON.stringify(value, null, 2) : shown(text ?? JSON.stringify(value, null, 2)),
      ),
  })
  return typeof code === 'number' ? code : 0
}

/** The command that a command line names, or the text that answers it. */
function read(argv, modules) {
  const [first] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return { text: overview(modules), code: first === undefined ? 2 : 0 }
  if (first.startsWith('-')) throw new UsageError(`A command comes first, not ${first}.`)
  const { module, command, rest } = find(modules, argv)
  if (command) return { module, command, rest }
  const isAsked = rest.some((word) => word === '--help' || word === '-h')
  return { text: helpOf(module), code: isAsked ? 0 : 2 }
}

/** What went wrong, and the exit code for it. */
function explain(error, usage) {
  const { name, message = String(error), param } = error ?? {}
  if (name === 'UsageError')
    return { text: `${message}\nusage: ${usage} (--help tells more)`, code: 2 }
  // The server names the field in its message, mostly.
  const field = param && !message.includes(param) ? ` (${param})` : ''
  return { text: `isola: ${message}${field}`, code: 1 }
}

/**
 * Runs one command line.
 * @returns The exit code: 0, 1 if it failed, 2 if the command line is wrong.
 */
export async function main(argv, given = {}) {
  const { modules = commands, ...streams } = given
  const { env, stdin, stdout, stderr } = process
  const io = { env, stdin, stdout, stderr, ...streams }
  let usage = 'isola <command>'
  try {
    const { module, command, rest, text, code } = read(argv, modules)
    if (!command) {
      io.stdout.write(`${text}\n`)
      return code
    }
    usage = command.usage
    refuseKeptByNpm(argv, { options: { json: common.json, ...command.options }, env: io.env })
    const { values, args } = parse(command, rest)
    if (values.help) {
      io.stdout.write(`${helpOf(module, command)}\n`)
      return 0
    }
    checkArguments(command, args)
    if (command.needsClone && !isClone)
      throw new Error(
        `isola ${module.noun} needs a clone of the repository, which holds the Worker: run it there.`,
      )
    return await runCommand(command, { values, args, io })
  } catch (error) {
    const { text, code } = explain(error, usage)
    io.stderr.write(`${shown(text)}\n`)
    return code
  }
}
