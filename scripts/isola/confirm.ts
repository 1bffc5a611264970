// A question to a person at a terminal; anything but yes is no.
import { createInterface } from 'node:readline/promises'

export async function confirm(question, { stdin, stderr }) {
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
