import type { EventDraft } from '#contracts/event.ts'

export type Emit = (event: EventDraft) => void
