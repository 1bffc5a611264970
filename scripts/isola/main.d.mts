import type { Readable, Writable } from 'node:stream'

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Pick<Writable, 'write'>
  readonly stderr: Pick<Writable, 'write'>
  readonly fetch: typeof fetch
  /** How a command that goes on waits, and what ends it: Ctrl-C, unless a test does. */
  readonly sleep: (ms: number) => Promise<void>
  readonly signal: AbortSignal
  /** Instead of the commands there are. */
  readonly modules: readonly unknown[]
}
/** Runs one command line; resolves to the exit code 0, 1 or 2. */
export declare function main(argv: readonly string[], io?: Partial<Io>): Promise<number>
