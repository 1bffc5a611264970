import type { Readable } from 'node:stream'

export const paste: { readonly on: string; readonly off: string }
export function restored(line: string): string
export function createPasteReader(stdin: Readable): Readable
