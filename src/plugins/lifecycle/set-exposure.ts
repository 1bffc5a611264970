import { withData } from '#contracts/event.ts'
import { defaultExposure, exposureDiff, withoutOwner, type Exposure } from '#contracts/exposure.ts'
import type { Generation } from '#contracts/plugin-catalog.ts'
import type { Outcome } from './changes.ts'

/** Another choice of what is offered over the same plugins: a generation of its own, with what is different on the record. */
export function setExposure(
  exposed: Exposure,
  { installed, bundled, exposed: before = defaultExposure }: Generation,
): Outcome {
  const { added, removed } = exposureDiff(before, exposed)
  const isSame = added.length + removed.length === 0
  return {
    rows: [],
    ...(!isSame && { generation: { installed, bundled, exposed } }),
    told: { type: 'exposure_changed', data: { added, removed } },
    notes: isSame
      ? ['This is offered already.']
      : [...added.map((line) => `+ ${line}`), ...removed.map((line) => `- ${line}`)],
  }
}

/** What a plugin or server was offered with goes with it: another that comes by its name is not exposed by that. */
export function withoutExposed(
  outcome: Outcome,
  id: string,
  { installed, bundled, exposed: before = defaultExposure }: Generation,
): Outcome {
  const exposed = withoutOwner(before, id)
  const { removed } = exposureDiff(before, exposed)
  if (removed.length === 0) return outcome
  return {
    ...outcome,
    generation: { installed, bundled, ...outcome.generation, exposed },
    told: withData(outcome.told, { unexposed: removed }),
    notes: [...outcome.notes, ...removed.map((line) => `No longer offered at /mcp: ${line}`)],
  }
}
