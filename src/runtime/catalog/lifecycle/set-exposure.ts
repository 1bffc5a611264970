import { exposureDiff, withoutOwner, withoutSkill, type Exposure } from '../types/exposure.ts'
import { exposureOf, type Generation } from '../types/generation.ts'
import type { PartKindEntry, PartOutcome } from '../types/part-kind.ts'

const pinned = (exposed: Exposure) => ({ exposure: [{ id: 'exposure' as const, exposed }] })

/** Sets another exposure over the same plugins: a generation of its own, with the changed lines on the record. */
export function setExposure(exposed: Exposure, now: Generation): PartOutcome {
  const { added, removed, lines } = exposureDiff(exposureOf(now), exposed)
  const isSame = lines.length === 0
  return {
    ...(!isSame && { pins: pinned(exposed) }),
    told: { type: 'exposure_changed', data: { added, removed } },
    notes: isSame ? ['This is offered already.'] : lines,
  }
}

/** The kind of the exposure to MCP clients. Going back to an earlier generation does not change it. */
export const exposureKind: PartKindEntry<'exposure'> = {
  kind: 'exposure',
  decide: (change, { generation }) =>
    change.do === 'expose' ? Promise.resolve(setExposure(change.exposed, generation)) : undefined,
  restore: async () => ({ notes: [] }),
  // Removes the exposure of a removed plugin, server or skill: a later one of the same name is not exposed by it.
  left({ kind, id }, now) {
    const without = kind === 'skill' ? withoutSkill : withoutOwner
    const exposed = without(exposureOf(now), id)
    const { removed } = exposureDiff(exposureOf(now), exposed)
    if (removed.length === 0) return undefined
    return {
      pins: pinned(exposed),
      told: { unexposed: removed },
      notes: removed.map((line) => `No longer offered at /mcp: ${line}`),
    }
  },
  sources: () => [],
  epoch: () => 0,
  wire: () => 'always',
}
