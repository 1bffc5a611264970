import type { Finding } from './finding.mjs'

export declare function weakness(name: string, value: string): string | undefined
export declare function checkVariables(options?: { readonly path?: string }): Finding[]
