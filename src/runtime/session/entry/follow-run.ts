import type { StreamItem } from '#contracts/event.ts'
import type { Following, ReadLog } from '../types/follow-run.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '../types/run-view.ts'
import type { SessionApi, SessionGateway } from '../types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'

/** A run whose outcome is waited for. */
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
 * Tells what happens in a run until it is over, waits for someone, or was waited for long enough; then it goes on by
 * itself. A client of 2026-07-28 that closes its request cancels the run; to one of 2025 a
 * lost connection is no cancel (it says `notifications/cancelled`), and the run goes on. Throws what the session refused.
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

/** Ends with the stream, with the wait, or with the client. @returns Whether the stream told all there is. */
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
  // A stream that broke off ends the waiting, and the run's own state is what counts.
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

/** A run that has told its end, or that it waits, may take a moment to be so in its view. */
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

/** Reads without waiting for what is still to come. */
export const createReadLog =
  ({ sessions }: { readonly sessions: SessionGateway }): ReadLog =>
  async (principal, { session, run }) => {
    const options = { afterSeq: 0, run, follow: false }
    const stream = unwrap(await sessions.at(session).events(principal, options))
    return itemsIn((await new Response(stream).text()).split('\n'))
  }
