import {
  shippedRanking,
  type RankSettings,
} from '../../src/runtime/catalog/search/read-document.ts'
import type { QueryRow } from './data.ts'

const foldCount = 5

/** The settings that are tried: the weight of a synonym, and the shares of the best part and of the owner. */
export const settingsTried: readonly RankSettings[] = [0, 0.3, 0.5].flatMap((synonymWeight) =>
  [0.2, 0.4, 0.6].flatMap((partShare) =>
    [0, 0.4].map((ownerShare) => ({ ...shippedRanking, synonymWeight, partShare, ownerShare })),
  ),
)

/**
 * Five folds, none of which shares a relevant tool with another: queries that are linked by one stay together. The
 * largest groups are dealt first, each to the smallest fold.
 */
export function foldsOf(queries: readonly QueryRow[]): readonly (readonly QueryRow[])[] {
  const parent = new Map<string, string>()
  const rootOf = (id: string): string => {
    let root = id
    while (parent.has(root)) root = parent.get(root) ?? root
    return root
  }
  for (const { relevant } of queries) {
    const [first = '', ...rest] = relevant
    for (const id of rest) {
      const [one, other] = [rootOf(first), rootOf(id)]
      if (one !== other) parent.set(one, other)
    }
  }
  const groups = Map.groupBy(queries, ({ relevant }) => rootOf(relevant[0] ?? ''))
  const folds: QueryRow[][] = Array.from({ length: foldCount }, () => [])
  for (const group of [...groups.values()].toSorted((one, other) => other.length - one.length)) {
    folds.toSorted((one, other) => one.length - other.length)[0]?.push(...group)
  }
  return folds.filter((fold) => fold.length > 0)
}
