import { exposureDiff, withoutOwner, withoutSkill, type Exposure } from '../types/exposure.ts'
import { exposureOf, type Generation } from '../types/generation.ts'
import type { PartKindEntry, PartOutcome } from '../types/part-kind.ts'

const pinned = (exposed: Exposure) => ({ exposure: [{ id: 'exposure' as const, exposed }] })

/** Another choice of what is offered over the same plugins: a generation of its own, with what is different on the record. */
export function setExposure(exposed: Exposure, now: Generation): PartOutcome {
  const { added, removed, lines } = exposureDiff(exposureOf(now), exposed)
  const isSame = lines.length === 0
  return {
    ...(!isSame && { pins: pinned(exposed) }),
    told: { type: 'exposure_changed', data: { added, removed } },
    notes: isSame ? ['This is offered already.'] : lines,
  }
}

/** What MCP clients are offered: it stays as it is, whatever goes back. */
export const exposureKind: PartKindEntry<'exposure'> = {
  kind: 'exposure',
  decide: (change, { generation }) =>
    change.do === 'expose' ? Promise.resolve(setExposure(change.exposed, generation)) : undefined,
  restore: async () => ({ notes: [] }),
  // What a plugin, server or skill was offered with goes with it: another that comes by its name is not exposed by that.
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
