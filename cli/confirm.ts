// Questions to a person at a terminal; anything but yes is no.
import { PassThrough, Writable } from 'node:stream'
import type { Io, Terminal } from './command.ts'
import { UsageError } from './options.ts'

/**
 * The library asks a stream of Node for its width and its events; a test's only writes, and some terminals have no
 * width.
 */
function streamOf(stderr: Io['stderr'] & { readonly columns?: number }): Writable {
  if (stderr.columns) return stderr as unknown as Writable
  return new Writable({ write: (chunk, _encoding, done) => (stderr.write(String(chunk)), done()) })
}

export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<boolean> {
  // The library draws its frame anew at each key: what may be long stands above it, whole.
  const [last = '', ...before] = question.split('\n').toReversed()
  for (const line of before.toReversed()) stderr.write(`${line}\n`)
  // Loaded where a person is asked: most commands ask nothing.
  const { confirm: ask } = await import('@clack/prompts')
  const input = stdin.setRawMode ? stdin : stdin.pipe(new PassThrough())
  // The library waits on after Ctrl-D, which is no answer either.
  const stop = new AbortController()
  input.on('data', (chunk) => String(chunk) === '\u0004' && stop.abort())
  const answer = await ask({
    message: last,
    initialValue: false,
    signal: stop.signal,
    input,
    output: streamOf(stderr),
  })
  return answer === true
}

/** Shows what it is about and asks, unless --yes stands for the answer. Throws without a terminal, and after a no. */
export async function agree(
  { values, stdin, stderr }: Terminal & { readonly values: { readonly yes?: boolean | undefined } },
  {
    text,
    question,
    to,
    otherwise,
  }: {
    readonly text: string
    readonly question: string
    /** What --yes does. */
    readonly to: string
    readonly otherwise: string
  },
): Promise<void> {
  stderr.write(`${text}\n`)
  if (values.yes) return
  if (!stdin.isTTY)
    throw new UsageError(`Say --yes to ${to} without being asked: there is no terminal.`)
  if (!(await confirm(question, { stdin, stderr }))) throw new Error(otherwise)
}
