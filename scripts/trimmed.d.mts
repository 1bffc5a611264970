import type { TrimmedFile } from './generate-trimmed.mjs'

export declare const trimmed: readonly TrimmedFile[]
