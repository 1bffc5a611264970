// Questions to a person at a terminal; anything but yes is no.
import { PassThrough, Writable } from 'node:stream'
import type { Io } from './command.ts'
import { UsageError } from './usage.ts'

/** The library asks a stream of Node for its width and its events; a test's only writes, and some terminals have no width. */
function streamOf(stderr: Io['stderr'] & { readonly columns?: number }): Writable {
  if (stderr.columns) return stderr as unknown as Writable
  return new Writable({ write: (chunk, _encoding, done) => (stderr.write(String(chunk)), done()) })
}

export async function confirm(
  question: string,
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
): Promise<boolean> {
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

/** Asks, unless --yes stands for the answer. Throws without a terminal. */
export async function agreed(
  question: string,
  isYes: boolean | undefined,
  io: Pick<Io, 'stdin' | 'stderr'>,
  what: string,
): Promise<boolean> {
  if (isYes) return true
  if (!io.stdin.isTTY)
    throw new UsageError(`Say --yes to ${what} without being asked: there is no terminal.`)
  return confirm(question, io)
}
