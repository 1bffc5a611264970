import type { Finding } from './finding.mjs'

export declare function checkDeployment(context: {
  readonly env: Readonly<Record<string, string>>
  readonly tenant?: string
  readonly folder?: string
}): Promise<Finding[]>
