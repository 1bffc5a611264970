import type { PriceRow } from '../src/platform/models/prices.ts'

export function rowsOf(list: Readonly<Record<string, unknown>>): Record<string, PriceRow>
export function toSource(
  rows: Readonly<Record<string, PriceRow>>,
  about: { readonly commit: string; readonly date: string },
): string
