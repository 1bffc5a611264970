import { rules, type Broken, type Rule } from './rules.ts'
import type { Place, Score } from './scorer.ts'
import { factKinds, type FactKind, type Transcript } from './types.ts'

type Counts = Record<Place, number>
const none = (): Counts => ({ window: 0, read: 0, lost: 0 })

/** Adds up scores and prints what came of them. */
export function createReport() {
  const byKind = Object.fromEntries(
    factKinds.map((kind) => [kind, { pinned: none(), free: none() }]),
  ) as Record<FactKind, { readonly pinned: Counts; readonly free: Counts }>
  const byWindow = new Map<number, Counts>()
  const broken = new Map<Rule, { count: number; readonly first: Broken; readonly number: number }>()
  const sums = { transcripts: 0, compactions: 0, filling: 0, fullest: 0, cleared: 0, found: 0 }
  return {
    add({ number, windowTokens }: Transcript, score: Score): void {
      sums.transcripts += 1
      sums.compactions += score.compactions
      sums.cleared += score.cleared
      sums.found += score.clearedFoundAtEnd
      for (const filling of score.fillings) {
        sums.filling += filling
        sums.fullest = Math.max(sums.fullest, filling)
      }
      for (const { fact, pinned, free } of score.facts) {
        if (pinned) byKind[fact.kind].pinned[pinned] += 1
        if (free) byKind[fact.kind].free[free] += 1
        const counts = byWindow.get(windowTokens) ?? none()
        byWindow.set(windowTokens, counts)
        for (const place of [pinned, free]) if (place) counts[place] += 1
      }
      for (const one of score.broken) {
        const before = broken.get(one.rule)
        if (before) before.count += 1
        else broken.set(one.rule, { count: 1, first: one, number })
      }
    },
    isBroken: () => broken.size > 0,
    lines(): readonly string[] {
      const rows = factKinds.flatMap((kind) => [
        row(`${kind}, pinned`, byKind[kind].pinned),
        row(kind, byKind[kind].free),
      ])
      const all = factKinds.flatMap((kind) => [byKind[kind].pinned, byKind[kind].free])
      return [
        row('', ['facts', 'in window', 'one read', 'lost', 'kept']),
        ...rows,
        row('all', all.reduce(add, none())),
        ...[...byWindow]
          .sort(([one], [other]) => one - other)
          .map(([tokens, counts]) => row(`window of ${tokens}`, counts)),
        '',
        `${sums.transcripts} transcripts, ${sums.compactions} compactions; right after one ${percent(sums.filling, sums.compactions)} of the window on the average, ${percent(sums.fullest, 1)} at most`,
        `${sums.cleared} results cleared; a handle in the last window leads to ${percent(sums.found, sums.cleared)}`,
        ...[...broken].map(
          ([rule, { count, first, number }]) =>
            `BROKEN ${rule} × ${count}: ${rules[rule]} (transcript ${number}, message ${first.at}: ${first.detail})`,
        ),
      ]
    },
  }
}

const add = (one: Counts, other: Counts): Counts => ({
  window: one.window + other.window,
  read: one.read + other.read,
  lost: one.lost + other.lost,
})

const percent = (part: number, of: number) =>
  of === 0 ? '–' : `${((100 * part) / of).toFixed(2)} %`

function row(name: string, values: readonly string[] | Counts): string {
  const cells = Array.isArray(values) ? values : cellsOf(values as Counts)
  return name.padEnd(22) + cells.map((cell) => String(cell).padStart(11)).join('')
}

function cellsOf({ window, read, lost }: Counts): readonly string[] {
  const facts = window + read + lost
  return [...[facts, window, read, lost].map(String), percent(window + read, facts)]
}
