import { headOf } from '#contracts/cut.ts'
import type { Clock } from '#contracts/sources.ts'
import { createCallGate } from './call-gate.ts'
import type { CallStubs } from './inside/capabilities.ts'
import type { Isolates } from './worker-code.ts'

/** One call of a plugin: plain data, made by the isolate host. */
export interface RunnerRequest {
  /** Id of a plugin's isolate; see isolate-id.ts. */
  readonly isolate: string
  /** The plugin's hash, by which its code is found. */
  readonly plugin: string
  /** Code that a model wrote, in place of a plugin's. */
  readonly modelCode?: string
  /** What the entry inside is told, as JSON text. */
  readonly job: string
  readonly timeoutMs: number
  /** Length of the longest answer that is handed on. */
  readonly maxChars: number
}

/** What the Runner works with; no isolates where the deployment has no Worker Loader. */
export interface RunnerParts {
  readonly isolates: Pick<Isolates, 'open' | 'openModelCode'> | undefined
  readonly clock: Clock
}

/** What has answered by then was never asked to end. */
const shortMs = 5

/**
 * Runs one call and ends everything it was given, whichever comes first: the answer, the deadline, the session's
 * own end of the call, or a flood. Contract: never throws; answers JSON text of at most `maxChars`.
 */
export async function runCall(
  { isolates, clock }: RunnerParts,
  request: RunnerRequest,
  stubs: CallStubs,
): Promise<string> {
  const asked: { closed?: Promise<void> } = {}
  // A session that is gone closes its calls too.
  const closed = () => (asked.closed ??= stubs.closed().catch(() => undefined))
  const gate = createCallGate({ ...stubs, closed })
  try {
    return await Promise.race([
      ask(isolates, request, gate.stubs),
      gate.exceeded.then((reason) => fault('exceeded', reason)),
      // Asking costs as much as a short call: it is for those that are not short.
      clock.sleep(shortMs).then(async () => {
        if (gate.isOpen()) await closed()
        return fault('closed')
      }),
      // Nobody stops this clock: it ends with the request that this is.
      clock.sleep(request.timeoutMs).then(() => fault('timeout')),
    ])
  } finally {
    gate.close()
  }
}

/** What comes back is foreign until it is known to be a text that is short enough. */
async function ask(
  isolates: RunnerParts['isolates'],
  { isolate, plugin, modelCode, job, maxChars }: RunnerRequest,
  { port, fetcher, closed }: CallStubs,
): Promise<string> {
  try {
    if (!isolates) return fault('plugin_code_unavailable')
    const opened =
      modelCode === undefined ? isolates.open(isolate, plugin) : isolates.openModelCode(modelCode)
    const answer = await opened.run(job, port, fetcher, closed)
    if (typeof answer !== 'string') return fault('odd_answer')
    return answer.length <= maxChars ? answer : fault('too_large')
  } catch (error) {
    // Code that is no JavaScript never starts. Who wrote it may hear why; the words are about nothing else.
    const syntax = modelCode !== undefined && /SyntaxError[^\n]*/.exec(String(error))?.[0]
    if (syntax) return fault('syntax', headOf(syntax, 300))
    // Its words are the plugin's: they may say anything, and pretend to be the platform's.
    return fault('crashed')
  }
}

function fault(code: string, message = ''): string {
  return JSON.stringify({ error: { code, message, transient: false } })
}
