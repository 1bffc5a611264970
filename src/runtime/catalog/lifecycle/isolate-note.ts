import type { PluginRow } from '../types/plugin-catalog.ts'

/** What isolates cost here, and which plugins have one for everybody. */
export interface IsolatePrice {
  /** Of each isolate id a day; 0: nothing is billed. */
  readonly isolatePriceNanoUsd: number
  readonly sharesIsolate: (plugin: string) => boolean
}

/** How many isolates the code of a plugin is billed for in a day, for whoever decides about it. */
export function isolateNote(
  { id, tier }: Pick<PluginRow, 'id' | 'tier'>,
  { isolatePriceNanoUsd, sharesIsolate }: IsolatePrice,
): readonly string[] {
  if (tier === 'builtin') return []
  const price = isolatePriceNanoUsd > 0 ? `$${isolatePriceNanoUsd / 1e9} a day` : 'nothing here'
  if (tier === 'community')
    return [`Its code has an isolate of its own for each session tree: each costs ${price}.`]
  return sharesIsolate(id)
    ? [
        `All principals share one isolate of its code, which costs ${price}: what it keeps in globals, all of them meet.`,
      ]
    : [
        `Its code has an isolate of its own for each principal: each costs ${price}. ISOLA_SHARED_ISOLATES=${id} makes it one for all of them, and what it keeps in globals then goes from one to the other.`,
      ]
}
