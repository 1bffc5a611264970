import { runOptionFields, type RunOptions } from '#contracts/run-options.ts'
import type { Submission } from '../types/submission.ts'

/**
 * Whether what a submission says besides its options is part of its body. Not part of it is what a retry may send anew
 * (its trace, the lease its parent has left by now, its principal's key, limits and persona), and what only a surface reads.
 */
const besidesOptions: Readonly<Record<Exclude<keyof Submission, keyof RunOptions>, boolean>> = {
  agent: true,
  principal: true,
  messages: true,
  begunBy: true,
  after: true,
  isStateless: true,
  trace: false,
  traceLink: false,
  idempotencyKey: false,
  lineage: false,
  dayLimits: false,
  keyPersona: false,
  echo: false,
}

const isOfBody = new Map<string, boolean>([
  ...Object.entries(besidesOptions),
  ...Object.entries(runOptionFields).map(([name, { isHashed }]) => [name, isHashed] as const),
])

/** Names what an idempotency key stands for. It stays the same from release to release: a retry after an upgrade joins its run. */
export function bodyHashOf(submission: Submission, sha256: (text: string) => string): string {
  // The same words are the same request, whatever was read before them.
  const messages = submission.messages.map(({ label: _label, ...said }) => said)
  const body = Object.entries({ ...submission, messages }).filter(([name]) => isOfBody.get(name))
  return sha256(JSON.stringify(Object.fromEntries(body)))
}
