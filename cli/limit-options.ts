// The limits of a run, as options of a command and as amounts that a person reads.
import { sentOf, text, type Options, type ValuesOf, UsageError } from './options.ts'

/** Each option with the limit that it names. */
const limitsByOption = {
  tokens: ['maxTokens', 'n', 'tokens of all model calls together'],
  cost: ['maxCostUsd', 'usd', 'US dollars'],
  platform: ['maxPlatformUsd', 'usd', 'US dollars of what the platform itself costs'],
  time: ['maxTimeMs', 'ms', 'milliseconds at work; waiting does not count'],
  turns: ['maxTurns', 'n', 'turns'],
  calls: ['maxToolCalls', 'n', 'tool calls'],
  children: ['maxChildren', 'n', 'sub-agents'],
  depth: ['maxDepth', 'n', 'levels of sub-agents, at most 16'],
  concurrency: ['maxConcurrency', 'n', 'calls side by side, at most 64'],
} as const
type OptionName = keyof typeof limitsByOption

function toAmount(given: string, option: string): number {
  const amount = given.trim() === '' ? Number.NaN : Number(given.trim().replace(/^\$/, ''))
  if (Number.isFinite(amount)) return amount
  throw new UsageError(`${option} must be a number, such as 40.`)
}

// The names are those of the limits.
export const limitOptions = Object.fromEntries(
  Object.entries(limitsByOption).map(([option, [to, value, about]]) => [
    option,
    text(value, about, { to, read: toAmount }),
  ]),
) as { readonly [Name in OptionName]: { readonly type: 'string' } } & Options

export const limitNames: readonly string[] = Object.keys(limitsByOption)

/** For a usage line: `[--tokens <n>] [--cost <usd>] …`. */
export const limitUsage = Object.entries(limitsByOption)
  .map(([option, [, value]]) => `[--${option} <${value}>]`)
  .join(' ')

/** The body of a change of limits; undefined where no limit was named. */
export function limitsOf(values: ValuesOf<typeof limitOptions>) {
  const limits: Readonly<Record<string, number>> = sentOf(limitOptions, { ...values })
  return Object.keys(limits).length === 0 ? undefined : limits
}

interface Reached {
  readonly limit?: string | undefined
  readonly needed?: number | undefined
}

const isNano = (limit: string) => limit.endsWith('NanoUsd')
const amountOf = (limit: string, needed: number) => String(isNano(limit) ? needed / 1e9 : needed)

/** `$0.0336`, `4200 tokens`: the least limit with which the run may go on, nothing of it rounded away. */
export function neededText({ limit, needed }: Reached): string | undefined {
  if (limit === undefined || needed === undefined) return undefined
  const [, [, , unit = ''] = []] = ofLimit(limit) ?? []
  const amount = amountOf(limit, needed)
  return isNano(limit) ? `$${amount}` : `${amount} ${unit.split(/[ ,;]/)[0]}`.trim()
}

/** `--cost 0.0336`: the option that gives a run what it needs. */
export function neededOption({ limit, needed }: Reached): string | undefined {
  if (limit === undefined) return undefined
  const [option] = ofLimit(limit) ?? []
  if (option === undefined) return undefined
  return `--${option} ${needed === undefined ? '<n>' : amountOf(limit, needed)}`
}

const ofLimit = (limit: string) =>
  Object.entries(limitsByOption).find(([, [name]]) => name === limit.replace('NanoUsd', 'Usd'))
