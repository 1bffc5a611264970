// One message: submitted once, followed to its end, its questions answered on the way.
import { randomUUID } from 'node:crypto'
import { ApiError, type Client, type StreamItem } from '../../src/client/client.ts'
import { defined } from '../../src/contracts/defined.ts'
import type { ToldData } from '../../src/contracts/event.ts'
import { settlePauses } from './pauses.ts'
import type { Person } from './questions.ts'
import type { View } from './view.ts'

/** A conversation: where it is, how it looks, and who talks. */
export interface Chat
  extends Pick<Person, 'ask' | 'isTerminal'>, Pick<Client, 'request' | 'events'> {
  readonly session: string
  readonly view: View
  readonly model?: string | undefined
  readonly requireApproval?: readonly string[] | undefined
  /** Aborted when the person leaves. */
  readonly signal: AbortSignal
  /** The signal of the open questions: a cancel closes them. */
  readonly asking: () => AbortSignal
  readonly sleep: (ms: number) => Promise<void>
  /** The run that works. */
  run?: string | undefined
  /** A question found no person. */
  isUnanswered: boolean
}

/** How a run ended: its `run_finished`, or that the person left it. */
export type Ending =
  | ToldData<'run_finished'>
  | { readonly state: 'left'; readonly result: { readonly success: false } }
/** How long the last lines of a sub-agent may take to arrive after its result. */
const lateMs = 300
/** How often a run is looked at that waits for a decision elsewhere. */
const lookMs = 1_000
/** About a minute: a server that is started again answers by then. */
const maxTries = 16

/** Asks again where that may help: the request must be one that may be repeated. */
async function asking<T>(chat: Chat, ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      // Another refusal stays one.
      const isPassing = error instanceof ApiError && (error.status === 0 || error.status === 503)
      if (!isPassing || tries >= maxTries || chat.signal.aborted) throw error
      chat.view.note(`! ${error.message} Trying again …`)
      await chat.sleep(Math.min(5_000, 250 * 2 ** tries))
    }
  }
}

/** Sends the task. The key makes a repeated request join the run that is there. */
function submit(chat: Chat, task: string) {
  const { model, requireApproval, request } = chat
  const asks = requireApproval && [...requireApproval]
  const body = { task, mayAsk: true, ...defined({ model, requireApproval: asks }) }
  const headers = { 'idempotency-key': randomUUID() }
  const params = { id: chat.session }
  return asking(chat, () => request('POST /api/sessions/:id/runs', { params, body, headers }))
}

/**
 * Shows what a sub-agent does, until it is stopped. It is only shown: what goes wrong with it is no concern of the run.
 */
function watchBelow(chat: Chat, session: string, depth: number) {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, chat.signal])
  const watch = async () => {
    const below = createWatchers(chat, depth + 1)
    for await (const item of chat.events(session, { signal })) {
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
function createWatchers(chat: Chat, depth: number) {
  const watched = new Map<string, () => Promise<void>>()
  return {
    /** Resolves once the sub-agent's own lines are told, so that its result comes after them. */
    async see(item: StreamItem) {
      if (item.type === 'agent_invoked') {
        const { call, session } = item.data
        watched.set(call, watchBelow(chat, session, depth))
      }
      if (item.type === 'agent_result' || item.type === 'agent_error') {
        const { call } = item.data
        await watched.get(call)?.()
        watched.delete(call)
      }
    },
    stop: () => Promise.all([...watched.values()].map((end) => end())),
  }
}

/**
 * Follows a run to its end, over broken connections and pauses.
 * @returns Its `run_finished` data.
 */
export async function followRun(chat: Chat, run: string): Promise<Ending> {
  const { events, session, view, request } = chat
  const cursor = { seq: 0 }
  const watchers = createWatchers(chat, 1)
  const onBroken = () => view.note('! the connection broke; coming back …')
  try {
    for (;;) {
      const items = events(session, { run, cursor, signal: chat.signal, onBroken })
      view.wait()
      for await (const item of items) {
        await watchers.see(item)
        view.show(item)
        if (item.type === 'run_finished') return item.data
      }
      view.rest()
      if (chat.signal.aborted) return { state: 'left', result: { success: false } }
      const params = { id: session }
      const tree = await asking(chat, () => request('GET /api/sessions/:id', { params }))
      const { note } = view
      const settled = await settlePauses(tree, { ...chat, note, signal: chat.asking() })
      if (settled.isUnanswered) chat.isUnanswered = true
      if (settled.count === 0) await chat.sleep(lookMs)
    }
  } finally {
    view.rest()
    await watchers.stop()
  }
}

/** One message and its answer. */
export async function talk(chat: Chat, text: string): Promise<Ending> {
  const taken = await submit(chat, text)
  // A receipt, since the run is not waited for.
  const run = 'run' in taken ? taken.run : taken.id
  chat.run = run
  try {
    return await followRun(chat, run)
  } finally {
    chat.run = undefined
  }
}
