// Runs wrangler for one tenant. What it prints is shown only when it fails, and never with a secret in it.

import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { root, toolEnv, toolNode, tools } from '../../scripts/toolchain.mjs'

const lastLines = 12

/** The part of a failed command's output that tells why. */
function reason(output: string) {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !/Logs were written to|report any issues/i.test(line))
  return lines.slice(-lastLines).join('\n')
}

interface RunOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}
/** Wrangler for one tenant. What it answers as JSON is Cloudflare's. */
export interface Wrangler {
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<string>
  readonly json: <T>(args: readonly string[], options?: RunOptions) => Promise<T>
}

/** Runs wrangler once. `env` comes on top of this process's own. */
export type WranglerProgram = (
  args: readonly string[],
  options: Required<RunOptions>,
) => Promise<{
  readonly code: number | null
  readonly output: string
  readonly errors: string
}>

/** In a process of its own. */
const programOf =
  (file: string): WranglerProgram =>
  (args, { input, env }) =>
    new Promise((resolve, reject) => {
      const child = spawn(toolNode(), ['--no-warnings', file, ...args], {
        cwd: root,
        // A secret goes through the standard input: a process list shows arguments, and wrangler logs requests.
        env: toolEnv({ WRANGLER_LOG_SANITIZE: 'true', ...env }) as NodeJS.ProcessEnv,
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      let output = ''
      let errors = ''
      child.stdout.on('data', (chunk) => (output += chunk))
      child.stderr.on('data', (chunk) => (errors += chunk))
      child.on('error', reject)
      // A program that does not read its input closes it; its exit code tells.
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      child.on('close', (code) => resolve({ code, output, errors }))
    })

/**
 * @param options.file Wrangler's program, a JavaScript file.
 * @param options.program What runs it; a process where none is given.
 * @param options.secrets Values that no output may show.
 * @returns `run(args, { input, env })` resolves to the standard output, or throws with the reason; `json` parses it.
 */
export function createWrangler({
  file = tools.wrangler,
  program = programOf(file),
  secrets = new Set(),
}: {
  readonly file?: string
  readonly program?: WranglerProgram
  readonly secrets?: ReadonlySet<string>
} = {}): Wrangler {
  const redact = (text: string) =>
    [...secrets].reduce((clean, value) => clean.replaceAll(value, '[secret]'), text)

  const run: Wrangler['run'] = async (args, { input = '', env = {} } = {}) => {
    const { code, output, errors } = await program(args, { input, env })
    if (code === 0) return output
    const words = args.slice(0, 3).filter((arg) => !arg.startsWith('-'))
    const why = reason(redact(`${output}\n${errors}`))
    throw new Error(`wrangler ${words.join(' ')} failed (code ${code}).\n${why}`.trim())
  }

  /** Of an answer that is JSON with perhaps a line before it. */
  const json: Wrangler['json'] = async (args, options) => {
    const output = await run(args, options)
    const start = output.search(/^[[{]/m)
    try {
      return JSON.parse(output.slice(start))
    } catch {
      throw new Error(`wrangler ${args.slice(0, 2).join(' ')} did not answer JSON.`)
    }
  }
  return { run, json }
}

// The login of wrangler, and the account of the tenant.

const login = 'Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.'

interface Account {
  readonly id: string
  readonly name: string
}
interface Known {
  readonly named?: string | undefined
  readonly known?: string | undefined
}

/** The account to deploy to: a named account wins; several without a name are an error that asks for the name. */
function chooseAccount({
  accounts,
  named,
  known,
}: Known & { readonly accounts: readonly Account[] }): string {
  const list = accounts.map(({ id, name }) => `${id} (${name})`).join(', ')
  if (named && known && named !== known) {
    throw new Error(
      `This tenant is in account ${known}, CLOUDFLARE_ACCOUNT_ID names ${named}. ` +
        'For a second one there choose another --tenant; to move it, see docs/deploy.md.',
    )
  }
  const chosen = named || known
  if (chosen) {
    if (accounts.length > 0 && !accounts.some(({ id }) => id === chosen))
      throw new Error(`This login has no account ${chosen}. It has: ${list}.`)
    return chosen
  }
  const [first] = accounts
  if (first !== undefined && accounts.length === 1) return first.id
  throw new Error(
    accounts.length === 0
      ? 'This login does not list its accounts: set CLOUDFLARE_ACCOUNT_ID.'
      : `This login has several accounts: set CLOUDFLARE_ACCOUNT_ID to one of ${list}.`,
  )
}

interface WhoAmI {
  readonly loggedIn?: boolean
  readonly accounts?: readonly Account[]
}

/** Asks wrangler who is logged in; `whoami` fails without a login. */
export async function findAccount(wrangler: Wrangler, { named, known }: Known): Promise<string> {
  const loggedOut = 'This machine is not logged in to Cloudflare. '
  const answer = await wrangler.json<WhoAmI>(['whoami', '--json']).catch((error: Error) => {
    if (!/"loggedIn":\s*false/.test(error.message)) throw error
    throw new Error(loggedOut + login, { cause: error })
  })
  if (answer.loggedIn === false) throw new Error(loggedOut + login)
  return chooseAccount({ accounts: answer.accounts ?? [], named, known })
}

// D1 databases and KV namespaces: found by name, else made. Wrangler would make them on deploy, but looks for no KV
// namespace that a broken deploy left behind: the next one would stop at "already exists".

/** As wrangler lists them. */
interface Row {
  readonly name?: string
  readonly uuid?: string
  readonly title?: string
  readonly id?: string
}
interface Kind {
  readonly list: readonly string[]
  readonly create: (name: string) => readonly string[]
  readonly idOf: (rows: readonly Row[], name: string) => string | undefined
}

const kinds: Readonly<Record<'database' | 'namespace', Kind>> = {
  database: {
    list: ['d1', 'list', '--json'],
    create: (name) => ['d1', 'create', name],
    idOf: (rows, name) => rows.find((row) => row.name === name)?.uuid,
  },
  namespace: {
    list: ['kv', 'namespace', 'list'],
    create: (name) => ['kv', 'namespace', 'create', name],
    idOf: (rows, name) => rows.find((row) => row.title === name)?.id,
  },
}

/** @returns The id of the resource with exactly this name, and whether it was made now. */
export async function ensureResource(
  wrangler: Wrangler,
  kind: keyof typeof kinds,
  { name, configPath }: { readonly name: string; readonly configPath: string },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { list, create, idOf } = kinds[kind]
  const config = ['--config', configPath]
  const find = async () => idOf(await wrangler.json([...list, ...config]), name)
  const there = await find()
  if (there) return { id: there, isNew: false }
  await wrangler.run([...create(name), ...config])
  const made = await find()
  if (!made) throw new Error(`The ${kind} ${name} was made, but is not in the list yet.`)
  return { id: made, isNew: true }
}
