import type { StreamItem } from '#contracts/event.ts'
import type { Following, ReadLog } from '../types/follow-run.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '../types/run-view.ts'
import type { SessionApi, SessionGateway } from '../types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'

/** A run whose caller waits for its outcome. */
export interface RunToFollow extends Following {
  readonly api: SessionApi
  readonly principal: string
  readonly run: string
  readonly stream: ReadableStream<Uint8Array>
  readonly clock: Clock
  readonly onItem: (item: StreamItem) => void
}

const cancelReason = 'The client cancelled the call.'

/**
 * Gives the events of a run to its caller until the run is over, is parked, or the wait is over; then the run goes on by
 * itself. A client of 2026-07-28 that closes its request cancels the run. A client of 2025 cancels with
 * `notifications/cancelled`, so its lost connection is no cancel. Throws the refusal of the session.
 */
export async function followRun(options: RunToFollow): Promise<RunView> {
  const { api, principal, run, signal, keepAlive, isCancelledByClose } = options
  const cancel = () => isCancelledByClose && keepAlive(api.cancel(principal, run, cancelReason))
  if (signal.aborted) cancel() // a listener on an aborted signal never hears of it
  else signal.addEventListener('abort', cancel, { once: true })
  try {
    const isTold = await readUntil(options)
    return await viewOf(options, isTold ? maxLooks : 1)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Ends with the stream, with the wait, or with the client. @returns Whether the stream came to its end. */
async function readUntil({ stream, waitMs, clock, signal, onItem }: RunToFollow): Promise<boolean> {
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const read = async (): Promise<void> => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      const lines = (rest + step.value).split('\n')
      rest = lines.pop() ?? ''
      itemsIn(lines).forEach(onItem)
    }
  }
  // A stream that broke off ends the wait: the state of the run counts.
  const reading = read().then(
    () => true,
    () => true,
  )
  const isTold = await Promise.race([reading, clock.sleep(waitMs, ended).then(() => false)])
  over.abort()
  await reader.cancel().catch(() => undefined)
  return isTold
}

const settleMs = 50
const maxLooks = 20

/** After its last event, the view of a run may need a moment to show it. */
async function viewOf(following: RunToFollow, looks: number): Promise<RunView> {
  const { api, principal, run, clock, signal } = following
  const view = unwrap(await api.result(principal, run))
  if (view.state !== 'running' || looks <= 1 || signal.aborted) return view
  await clock.sleep(settleMs, signal)
  return viewOf(following, looks - 1)
}

/** One item a line, written by our own session object. */
const itemsIn = (lines: readonly string[]): readonly StreamItem[] =>
  lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StreamItem]))

/** Reads the events so far, without waiting for later ones. */
export const createReadLog =
  ({ sessions }: { readonly sessions: SessionGateway }): ReadLog =>
  async (principal, { session, run }) => {
    const options = { afterSeq: 0, run, follow: false }
    const stream = unwrap(await sessions.at(session).events(principal, options))
    return itemsIn((await new Response(stream).text()).split('\n'))
  }
