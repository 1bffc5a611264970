import type { Generated } from './generated.mjs'

export declare const names: readonly string[]
export declare const formats: readonly string[]
export declare const methods: Readonly<Record<string, readonly string[]>>
export declare const coercions: readonly string[]
export declare const zodFile: Generated
