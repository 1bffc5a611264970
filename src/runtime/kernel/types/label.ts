import type { Labelled, Label } from '#contracts/label.ts'
import { joinLabels } from '#contracts/label.ts'

/** Of all that was said there. */
export const contextLabel = (said: readonly Labelled[]): Label =>
  joinLabels(said.map(({ label }) => label))
