import type { Finding } from './finding.mjs'

export declare function bindingsIn(code: string): string[]
export declare function checkConfig(
  config: unknown,
  code: { readonly composition: string; readonly index: string },
): Finding[]
export declare function checkWorker(): Promise<Finding[]>
