import type { Finding } from './finding.mjs'

type Vars = Readonly<Record<string, string | undefined>>
export declare function checkModel(context: {
  readonly env: Vars
  readonly vars: Vars
  readonly fetch?: typeof fetch
}): Promise<Finding[]>
