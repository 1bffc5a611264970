import type { Finding } from './finding.mjs'

export declare function checkDatabase(context: {
  readonly env: Readonly<Record<string, string>>
}): Promise<Finding[]>
