import type { Finding } from './finding.mjs'

export declare function knownSettings(): string[]
export declare function checkSettings(context: {
  readonly env: Readonly<Record<string, string>>
  readonly path?: string
}): Promise<Finding[]>
