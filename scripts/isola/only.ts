import { UsageError } from './usage.ts'

/** The one argument that a command was given. */
export function only(args: readonly string[], what: string): string {
  const [first] = args
  if (first !== undefined && args.length === 1) return first
  throw new UsageError(`${what}: give one, there are ${args.length}.`)
}
