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
