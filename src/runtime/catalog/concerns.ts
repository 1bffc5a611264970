import {
  partsDiff,
  type Part,
  type PartKind,
  type Pins,
  type StoredPart,
} from './types/generation.ts'
import type { PartKindEntry, PartKinds } from './types/part-kind.ts'

/**
 * Whom a change concerns. A part that only came concerns nobody who is at work: who names it next asks for it. What says
 * what others may do, and what is not as it was, concerns everybody who may still believe in what was.
 */
export function concerns(before: Pins, after: Pins, kinds: PartKinds): 'everybody' | 'nobody' {
  const { came, gone } = partsDiff(before, after)
  const isThere = ({ kind, id }: Part) => (before[kind] ?? []).some((pin) => pin.id === id)
  const binds = ({ kind, pin }: Part) => entryOf(kinds, kind).binds(pin)
  const isNew = (part: Part) => !isThere(part) && !binds(part)
  return gone.length === 0 && came.every(isNew) ? 'nobody' : 'everybody'
}

/** A pin is looked at by the entry of its own kind only. */
export const entryOf = (kinds: PartKinds, kind: PartKind): PartKindEntry => kinds[kind]

/** A part with what its kind says of it. */
export function toStoredPart({ kind, id, pin }: Part, kinds: PartKinds): StoredPart {
  const entry = entryOf(kinds, kind)
  const needs = entry.needs?.(pin) ?? []
  return {
    kind,
    id,
    pin,
    epoch: entry.epoch(pin),
    bodies: entry.sources(pin),
    ...(needs.length > 0 && { needs }),
  }
}
