// A session's events as they happen, over connections that may break.
import { RequestError, UnreachableError } from './connection.ts'

/** After one of these a run is over or waits for somebody: its stream may end. */
const resting = new Set(['run_finished', 'run_parked'])
const firstWaitMs = 250
const maxWaitMs = 5_000
/** The server says something every 2.5 seconds; this long a silence is a dead connection. */
const silenceMs = 20_000
const maxTries = 20

/** Whether asking again may help. */
const isPassing = (error) =>
  !(error instanceof RequestError) || error.status === 429 || error.status >= 500

/** The blocks of a server-sent event stream: `{ event, id, data }`, the data parsed; comments left out. */
export async function* readBlocks(body) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/)
    // What has no blank line after it has not arrived: a cut block is read again after the cursor.
    rest = blocks.pop()
    for (const block of blocks) {
      const fields = {}
      for (const line of block.split(/\r?\n/)) {
        const match = /^(event|id|data): ?(.*)$/.exec(line)
        if (match)
          fields[match[1]] =
            (fields[match[1]] === undefined ? '' : `${fields[match[1]]}\n`) + match[2]
      }
      if (fields.data !== undefined) yield { ...fields, data: JSON.parse(fields.data) }
    }
  }
}

/** Ends a connection on which nothing has come for too long. */
async function* untilSilent(body, stop) {
  const timer = setTimeout(() => stop(), silenceMs)
  try {
    for await (const chunk of body) {
      timer.refresh()
      yield chunk
    }
  } finally {
    clearTimeout(timer)
  }
}

/** One connection's items. Returns true if the stream ended where it may end. */
async function* readOnce(connection, path, { cursor, run, follow, signal }) {
  const silent = new AbortController()
  const either = AbortSignal.any([silent.signal, ...(signal ? [signal] : [])])
  const headers = cursor.seq > 0 ? { 'last-event-id': String(cursor.seq) } : {}
  const response = await connection.open(path, { headers, signal: either })
  let isAtRest = false
  for await (const { event, data } of readBlocks(
    untilSilent(response.body, () => silent.abort()),
  )) {
    if (event === 'error')
      throw new UnreachableError(data?.error?.message ?? 'The stream broke off.')
    if (data.seq !== undefined) {
      if (data.seq <= cursor.seq) continue
      cursor.seq = data.seq
      isAtRest = resting.has(data.type)
    }
    yield data
  }
  return !follow || run === undefined || isAtRest
}

/**
 * Follows a session from a cursor and comes back to it when a connection breaks, so that every event comes once and in
 * order. Ends after the run's `run_finished` or `run_parked`, or when the server has nothing to tell (the run waits); with
 * `follow: false` after what is stored.
 *
 * @param options.cursor `{ seq }`, moved along: pass it again to go on after a pause.
 * @param options.onBroken Told why, before each new attempt.
 */
export async function* followEvents(connection, session, options) {
  const { run, follow = true, cursor, signal, onBroken } = options
  const sleep = options.sleep ?? ((ms) => new Promise((done) => setTimeout(done, ms)))
  const query = new URLSearchParams({ ...(run && { run }), ...(!follow && { follow: 'false' }) })
  const path = `/api/sessions/${encodeURIComponent(session)}/events?${query}`
  for (let tries = 0; ;) {
    const from = cursor.seq
    let fault
    try {
      if (yield* readOnce(connection, path, { cursor, run, follow, signal })) return
    } catch (error) {
      if (signal?.aborted || !isPassing(error)) throw error
      fault = error
    }
    const isNew = cursor.seq > from
    // Ended by the server, which had nothing to tell: the run waits or is over, and whoever asked looks.
    if (!fault && !isNew) return
    tries = isNew ? 1 : tries + 1
    if (tries > maxTries) throw fault ?? new UnreachableError('The stream keeps ending.')
    if (fault) onBroken?.(fault)
    await sleep(Math.min(maxWaitMs, firstWaitMs * 2 ** (tries - 1)))
    if (signal?.aborted) return
  }
}
