/** Percent, each the mean over the questions. */
export const measures = ['R@5', 'R@10', 'nDCG@10', 'session R@5'] as const
export type Scores = Readonly<Record<(typeof measures)[number], number>>
/** So many hits are asked for: the first five sessions are among them. */
export const depth = 60

const sessionOf = (turn: string) => turn.split(':')[0] ?? turn

/** Of one question: the share of its turns, and of their sessions, among the first. */
export function scoreOf(evidence: readonly string[], ranked: readonly string[]): Scores {
  const share = (wanted: readonly string[], among: readonly string[]) =>
    (100 * wanted.filter((one) => among.includes(one)).length) / wanted.length
  const gain = (rank: number) => 1 / Math.log2(rank + 2)
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0)
  const found = ranked.slice(0, 10).map((one, rank) => (evidence.includes(one) ? gain(rank) : 0))
  const ideal = sum(evidence.slice(0, 10).map((_one, rank) => gain(rank)))
  const sessions = [...new Set(ranked.map(sessionOf))].slice(0, 5)
  return {
    'R@5': share(evidence, ranked.slice(0, 5)),
    'R@10': share(evidence, ranked.slice(0, 10)),
    'nDCG@10': (100 * sum(found)) / ideal,
    'session R@5': share([...new Set(evidence.map(sessionOf))], sessions),
  }
}

export const meanOf = (all: readonly Scores[]): Scores =>
  Object.fromEntries(
    measures.map((name) => [name, all.reduce((sum, one) => sum + one[name], 0) / all.length]),
  ) as Scores
