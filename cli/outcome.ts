// How a run ended, for the terminal: its answer on the standard output, anything else on the error output.
import type { Context } from './command.ts'
import { shown } from './text.ts'

/** Exit code of a run that waits for a decision: neither done nor failed. */
export const waitsCode = 3

interface Ended {
  readonly run: string
  readonly state: string
  readonly result: string
  readonly error?: { readonly code: string; readonly message: string } | undefined
  /** Whether it can still be looked at. */
  readonly isKept: boolean
}

/**
 * @param value What --json shows, however it ended.
 * @returns The exit code: 0 for a completed run, else 1.
 */
export function tellEnd(
  { run, state, result, error, isKept }: Ended,
  value: unknown,
  { isJson, print, stdout, stderr }: Pick<Context, 'isJson' | 'print' | 'stdout' | 'stderr'>,
): number {
  if (isJson) print(value)
  if (state === 'completed') {
    if (!isJson) stdout.write(`${shown(result)}\n`)
    return 0
  }
  const why = error ? `${error.code}: ${error.message}` : `The run is ${state}.`
  // A text of an unfinished run is no answer: a program that reads the standard output must not take it for one.
  const said = result !== '' && result !== error?.message ? [result] : []
  const next = isKept ? [`  isola run show ${run}`] : []
  stderr.write(`${shown([...said, why, ...next].join('\n'))}\n`)
  return 1
}
