// A question to a person at a terminal; anything but yes is no.
import { createInterface } from 'node:readline/promises'
import type { Io } from './command.ts'

export async function confirm(
  question: string,
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
): Promise<boolean> {
  // One that is only written to shows the question as well.
  const terminal = createInterface({ input: stdin, output: stderr as NodeJS.WritableStream })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
