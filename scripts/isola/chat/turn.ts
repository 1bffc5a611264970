// One message: submitted once, followed to its end, its questions answered on the way.
import { randomUUID } from 'node:crypto'
import { RequestError } from '../connection.ts'
import { followEvents } from '../events.ts'
import { settlePauses } from './pauses.ts'

const pathOf = (session) => `/api/sessions/${encodeURIComponent(session)}`
/** How long the last lines of a sub-agent may take to arrive after its result. */
const lateMs = 300
/** How often a run is looked at that waits for something nobody here decides. */
const lookMs = 1_000
/** About a minute: a server that is started again answers by then. */
const maxTries = 16

/** Asks again where that may help: the request must be one that may be repeated. */
async function asking(chat, ask) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const isPassing = !(error instanceof RequestError) || error.status === 503
      if (!isPassing || tries >= maxTries || chat.signal.aborted) throw error
      chat.view.note(`! ${error.message} Trying again …`)
      await chat.sleep(Math.min(5_000, 250 * 2 ** tries))
    }
  }
}

/** Sends the task. The key makes a repeated request join the run that is there. */
function submit(chat, task) {
  const { model, requireApproval, request } = chat
  const json = {
    task,
    mayAsk: true,
    ...(model && { model }),
    ...(requireApproval?.length && { requireApproval }),
  }
  const headers = { 'idempotency-key': randomUUID() }
  const path = `${pathOf(chat.session)}/runs`
  return asking(chat, () => request(path, { method: 'POST', json, headers }))
}

/** Shows what a sub-agent does, until it is stopped. It is only shown: what goes wrong with it is no concern of the run. */
function watchBelow(chat, session, depth) {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, chat.signal])
  const watch = async () => {
    const below = createWatchers(chat, depth + 1)
    for await (const item of followEvents(chat.connection, session, {
      cursor: { seq: 0 },
      signal,
    })) {
      chat.view.showBelow(item, depth)
      await below.see(item)
    }
  }
  const over = watch().catch(() => undefined)
  return async () => {
    await Promise.race([over, chat.sleep(lateMs)])
    stop.abort()
  }
}

/** Begins to watch each sub-agent that is invoked, and ends it with its result. */
function createWatchers(chat, depth) {
  const watched = new Map()
  return {
    /** Resolves once the sub-agent's own lines are told, so that its result comes after them. */
    async see({ type, data }) {
      if (type === 'agent_invoked') watched.set(data.call, watchBelow(chat, data.session, depth))
      if (type === 'agent_result' || type === 'agent_error') {
        await watched.get(data.call)?.()
        watched.delete(data.call)
      }
    },
    stop: () => Promise.all([...watched.values()].map((end) => end())),
  }
}

/**
 * Follows a run to its end, over broken connections and pauses.
 * @returns Its `run_finished` data.
 */
export async function followRun(chat, run) {
  const { connection, session, view, request } = chat
  const cursor = { seq: 0 }
  const watchers = createWatchers(chat, 1)
  const onBroken = () => view.note('! the connection broke; coming back …')
  try {
    for (;;) {
      const items = followEvents(connection, session, {
        run,
        cursor,
        signal: chat.signal,
        onBroken,
      })
      view.wait()
      for await (const item of items) {
        await watchers.see(item)
        view.show(item)
        if (item.type === 'run_finished') return item.data
      }
      view.rest()
      if (chat.signal.aborted) return { state: 'left', result: { success: false } }
      const tree = await asking(chat, () => request(pathOf(session)))
      const settled = await settlePauses(tree, {
        request,
        ask: chat.ask,
        note: view.note,
        signal: chat.asking(),
      })
      if (settled.isUnanswered) chat.isUnanswered = true
      if (settled.count === 0) await chat.sleep(lookMs)
    }
  } finally {
    view.rest()
    await watchers.stop()
  }
}

/** One message and its answer. */
export async function talk(chat, text) {
  const { run } = await submit(chat, text)
  chat.run = run
  try {
    return await followRun(chat, run)
  } finally {
    chat.run = undefined
  }
}
