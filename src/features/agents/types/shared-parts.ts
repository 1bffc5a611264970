import type { SharedPart, SharedFrom } from '#contracts/shared-parts.ts'
import type { Sharing } from '#features/plugins/types/shared-parts.ts'
import { keeperOf } from '#features/plugins/types/shared-parts.ts'

/**
 * The parts that a child shares with its caller: those its manifest declares and the caller itself has, so never
 * more.
 */
export const shareWith = (parts: readonly SharedPart[], caller: Sharing): SharedFrom =>
  Object.fromEntries(parts.map((part) => [part, keeperOf(part, caller)]))
