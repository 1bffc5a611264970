import { runOptionFields, type RunOptionRule } from '#contracts/run-options.ts'
import type { Submission } from '#contracts/submission.ts'

/**
 * What a retry may send anew (its trace, the lease its parent has left by now, its principal's key and limits), and
 * what only a surface reads. Of the options their own table says it.
 */
const besidesBody: readonly (keyof Submission)[] = [
  'idempotencyKey',
  'trace',
  'traceLink',
  'lineage',
  'key',
  'grant',
  'dayLimits',
  'echo',
]

const rules: Readonly<Record<string, RunOptionRule>> = runOptionFields
const isOfBody = (name: string): boolean =>
  Object.hasOwn(rules, name)
    ? rules[name]!.isHashed
    : !besidesBody.some((beside) => beside === name)

/** Names what an idempotency key stands for. The same in every version: rows of the one before are joined by it. */
export function bodyHashOf(submission: Submission, sha256: (text: string) => string): string {
  const body = Object.entries(submission).filter(([name]) => isOfBody(name))
  return sha256(JSON.stringify(Object.fromEntries(body)))
}
