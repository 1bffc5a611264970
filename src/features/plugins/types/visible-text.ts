import { firstHidden } from '#contracts/visible-text.ts'
import type { HiddenPart } from '#contracts/visible-text.ts'
import { headOf } from '#contracts/cut.ts'

/** The same for a single line, such as a name or a host. */
export const hasHiddenInLine = (text: string): boolean => firstHidden(text, 'line') !== undefined

/** The place as text, such as `agent.uses_tools[2]`. */
export const placeOf = ({ path }: Pick<HiddenPart, 'path'>): string =>
  path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${headOf(step, 120)}`,
    )
    .join('')
