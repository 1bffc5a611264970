import { headOf } from '#contracts/cut.ts'
import type { Clock } from '#contracts/sources.ts'
import { createCallGate } from './call-gate.ts'
import type { CallStubs } from './inside/capabilities.ts'
import type { Isolates } from './worker-code.ts'

/** One call of a plugin: plain data from the isolate host. */
export interface RunnerRequest {
  /** Id of a plugin's isolate; see isolate-id.ts. */
  readonly isolate: string
  /** The plugin's hash, by which its code is found. */
  readonly plugin: string
  /** Code that a model wrote, in place of a plugin's. */
  readonly modelCode?: string
  /** The input of the entry inside, as JSON text. */
  readonly job: string
  readonly timeoutMs: number
  /** Length of the longest accepted answer. */
  readonly maxChars: number
}

/** Dependencies of the Runner; no isolates without a Worker Loader. */
export interface RunnerParts {
  readonly isolates: Pick<Isolates, 'open' | 'openModelCode'> | undefined
  readonly clock: Clock
}

/** A call that answers within this time never asks the session whether it was closed. Milliseconds. */
const shortMs = 5

/**
 * Runs one call and revokes its functions at whichever comes first: the answer, the deadline, the session's end of
 * the call, or a flood. Contract: never throws; answers JSON text of at most `maxChars`.
 */
export async function runCall(
  { isolates, clock }: RunnerParts,
  request: RunnerRequest,
  stubs: CallStubs,
): Promise<string> {
  const asked: { closed?: Promise<void> } = {}
  // If the session is gone, its calls are closed too.
  const closed = () => (asked.closed ??= stubs.closed().catch(() => undefined))
  const gate = createCallGate({ ...stubs, closed })
  try {
    return await Promise.race([
      ask(isolates, request, gate.stubs),
      gate.exceeded.then((reason) => fault('exceeded', reason)),
      // Asking the session costs as much as a short call, so only longer calls ask.
      clock.sleep(shortMs).then(async () => {
        if (gate.isOpen()) await closed()
        return fault('closed')
      }),
      // No signal stops this timer: it ends with this request.
      clock.sleep(request.timeoutMs).then(() => fault('timeout')),
    ])
  } finally {
    gate.close()
  }
}

/** The answer is untrusted until it is known to be a text of allowed length. */
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
    // Code with a syntax error never starts. Its author may read the message, which is about nothing else.
    const syntax = modelCode !== undefined && /SyntaxError[^\n]*/.exec(String(error))?.[0]
    if (syntax) return fault('syntax', headOf(syntax, 300))
    // The error's words are the plugin's: they may say anything, and pretend to be the platform's.
    return fault('crashed')
  }
}

function fault(code: string, message = ''): string {
  return JSON.stringify({ error: { code, message, transient: false } })
}
