import { Readable } from 'node:stream'
import type { Io } from '../../cli/command.ts'
import { main } from '../../cli/main.ts'

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs one command line of `isola` in this process, with what it says kept. */
export async function isola(
  argv: readonly string[],
  { input = '', ...io }: Partial<Io> & { readonly input?: string } = {},
): Promise<Outcome> {
  const said = { stdout: '', stderr: '' }
  const keep = (stream: keyof typeof said) => ({
    write: (text: string) => {
      said[stream] += text
      return true
    },
  })
  const code = await main(argv, {
    env: {},
    stdin: Readable.from(input === '' ? [] : [input]),
    stdout: keep('stdout'),
    stderr: keep('stderr'),
    ...io,
  })
  return { code, ...said }
}
