// Questions to a person at a terminal; anything but yes is no.
import { PassThrough, Writable } from 'node:stream'
import type { Io } from './command.ts'
import { UsageError } from './usage.ts'

/** The library asks a whole stream of Node for its size and its events; what we are given only writes. */
const streamOf = (stderr: Io['stderr']) =>
  new Writable({ write: (chunk, _encoding, done) => (stderr.write(String(chunk)), done()) })

export async function confirm(
  question: string,
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
): Promise<boolean> {
  // The library draws its frame anew at each key: what may be long stands above it, whole.
  const [last = '', ...before] = question.split('\n').toReversed()
  for (const line of before.toReversed()) stderr.write(`${line}\n`)
  // Loaded where a person is asked: most commands ask nothing.
  const { confirm: ask } = await import('@clack/prompts')
  const answer = await ask({
    message: last,
    initialValue: false,
    input: stdin.setRawMode ? stdin : stdin.pipe(new PassThrough()),
    output: 'columns' in stderr ? (stderr as NodeJS.WriteStream) : streamOf(stderr),
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
