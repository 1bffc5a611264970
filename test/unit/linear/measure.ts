import { cpuMs } from '../../fakes/cpu-ms.ts'
import { namedIn, runsOf, textOf, type Run } from './runs.ts'

/** As it is used: all matches of a text, or the first. */
function use(regex: RegExp, text: string): void {
  try {
    if (regex.global) text.replace(regex, '')
    else regex.exec(text)
  } catch (error) {
    // The engine gives up, which is an answer, too: it has so many places to come back to, and no more.
    if (!(error instanceof RangeError)) throw error
  } finally {
    regex.lastIndex = 0
  }
}

/** Milliseconds, the shortest of several. */
export function fastest(work: () => void, times = 3): number {
  let least = Infinity
  for (let at = 0; at < times; at += 1) {
    const startedAt = cpuMs()
    work()
    least = Math.min(least, cpuMs() - startedAt)
    if (least < 0.5 || (at > 0 && least > 100)) return least
  }
  return least
}

/** Steps of a run, until one shows that its time grows faster than its length. */
const ladder = [16, 26, 200, 2_000, 20_000]
/** Under it no growth is told from the noise of a machine that does other things. */
const floorMs = 20
const mostGrowth = 15

export interface Slow {
  readonly run: Run
  readonly chars: number
  readonly ms: number
}

/** The first run whose time grows more than its length allows. */
export function slowRunOf(regex: RegExp): { readonly slow?: Slow; readonly worst?: Run } {
  let [worst, worstMs] = [undefined as Run | undefined, -1]
  for (const run of runsOf(regex)) {
    let before = 0
    for (const chars of ladder) {
      const text = textOf(run, chars)
      const ms = fastest(() => use(regex, text))
      if (ms > Math.max(floorMs, mostGrowth * before)) return { slow: { run, chars, ms } }
      before = ms
    }
    if (before > worstMs) [worst, worstMs] = [run, before]
  }
  return worst === undefined ? {} : { worst }
}

/** 200,000 and 2,000,000 characters: at most 15 times as long. */
export function growthOf(
  work: (text: string) => void,
  run: Run,
): { readonly isLinear: boolean; readonly said: string } {
  const [short, long] = [textOf(run, 200_000), textOf(run, 2_000_000)]
  for (let tries = 0; ; tries += 1) {
    const shortMs = fastest(() => work(short))
    const longMs = fastest(() => work(long), 2)
    const isLinear = longMs <= Math.max(100, mostGrowth * shortMs)
    if (isLinear || tries === 2)
      return { isLinear, said: `${shortMs.toFixed(1)} ms, then ${longMs.toFixed(1)} ms` }
  }
}

/** The same of the character that a pattern takes longest for. */
export function growthOfRegex(regex: RegExp): ReturnType<typeof growthOf> {
  const runs = namedIn(regex).map((pump) => ({ prefix: '', pump, suffix: '\u0001' }))
  // A pattern that takes the square of 2,000 characters would take hours of 2,000,000.
  const tooSlow = runs.find((run) => fastest(() => use(regex, textOf(run, 20_000)), 2) > 100)
  if (tooSlow) return { isLinear: false, said: `20,000 of ${JSON.stringify(tooSlow.pump)}` }
  const [[worst] = [undefined]] = runs
    .map((run) => [run, fastest(() => use(regex, textOf(run, 200_000)), 1)] as const)
    .toSorted(([, one], [, other]) => other - one)
  return worst === undefined
    ? { isLinear: true, said: '' }
    : growthOf((text) => use(regex, text), worst)
}
