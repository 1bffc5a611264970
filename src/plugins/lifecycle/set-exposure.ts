import { defaultExposure, exposureDiff, type Exposure } from '#contracts/exposure.ts'
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
    event: 'exposure_changed',
    data: { added, removed },
    notes: isSame
      ? ['This is offered already.']
      : [...added.map((line) => `+ ${line}`), ...removed.map((line) => `- ${line}`)],
  }
}
