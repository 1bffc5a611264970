import type { Labelled, Label } from '#contracts/label.ts'
import { joinLabels } from '#contracts/label.ts'

/** The joined label of all messages of a context. */
export const contextLabel = (said: readonly Labelled[]): Label =>
  joinLabels(said.map(({ label }) => label))
