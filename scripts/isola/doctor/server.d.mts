import type { Finding } from './finding.mjs'

export declare function readHealth(health: unknown, version: string): Finding[]
export declare function checkServer(context: {
  readonly env: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}): Promise<Finding[]>
