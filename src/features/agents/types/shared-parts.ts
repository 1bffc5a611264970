import type { SharedPart, SharedFrom } from '#contracts/shared-parts.ts'
import type { Sharing } from '#features/plugins/types/shared-parts.ts'
import { keeperOf } from '#features/plugins/types/shared-parts.ts'

/** What a child has of its caller: what its manifest declares, where the caller itself has it, so never more. */
export const shareWith = (parts: readonly SharedPart[], caller: Sharing): SharedFrom =>
  Object.fromEntries(parts.map((part) => [part, keeperOf(part, caller)]))
