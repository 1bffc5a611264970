import type { QueryRow } from './data.ts'

/** Percent, each the mean over the queries. */
export interface Scores {
  readonly 'recall@1': number
  readonly 'recall@5': number
  readonly 'recall@10': number
  readonly MRR: number
}
export const measures = ['recall@1', 'recall@5', 'recall@10', 'MRR'] as const
/** So many hits are asked for. */
export const depth = 20

/** Scores of one query: the share of its groups with a hit in the first k, and one over the rank of the first. */
export function scoreOf({ relevant, any_of: anyOf }: QueryRow, ranked: readonly string[]): Scores {
  const groups = anyOf ?? relevant.map((id) => [id])
  const firsts = groups.map((group) =>
    Math.min(Infinity, ...group.map((id) => ranked.indexOf(id)).filter((rank) => rank >= 0)),
  )
  const recall = (k: number): number =>
    (100 * firsts.filter((rank) => rank < k).length) / (groups.length || 1)
  return {
    'recall@1': recall(1),
    'recall@5': recall(5),
    'recall@10': recall(10),
    MRR: 100 / (Math.min(Infinity, ...firsts) + 1),
  }
}

/** Zeros if there are none. */
export function meanOf(scores: readonly Scores[]): Scores {
  const mean = (measure: (typeof measures)[number]): number =>
    scores.reduce((sum, one) => sum + one[measure], 0) / (scores.length || 1)
  return {
    'recall@1': mean('recall@1'),
    'recall@5': mean('recall@5'),
    'recall@10': mean('recall@10'),
    MRR: mean('MRR'),
  }
}
