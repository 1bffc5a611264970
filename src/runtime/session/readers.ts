import { defined } from '#contracts/defined.ts'
import {
  withoutOpaque,
  type RunMemo,
  type RunView,
  type SessionAbout,
  type SessionTree,
  type TranscriptPage,
  type TranscriptQuery,
  type TreeQuery,
  type ItemsPage,
  type ItemsQuery,
} from './types/session-view.ts'
import type { SessionApi } from './types/session-api.ts'
import { itemsPage } from './responses/items.ts'
import { noSuchPlace, noSuchSession } from './storage/refusals.ts'
import type { SessionAccess } from './session-parts.ts'
import { eventsPage } from './log/log-view.ts'
import { aboutOf, treeOf } from './log/tree.ts'
import { memoOf, viewOf } from './log/views.ts'

/** Answers the readers of a session; each function throws `request_not_found` for another principal's session. */
export function createReaders(access: SessionAccess) {
  const { runtime, current, own, row, view, viewOptions, synced } = access
  return {
    owner(): string {
      const session = current.parts.store.session()
      if (!session) throw noSuchSession()
      return session.principal
    },
    result(principal: string, run: string): RunView {
      own(principal)
      return view(run)
    },
    recall(principal: string, run: string): RunMemo {
      own(principal)
      return memoOf(row(run), viewOptions())
    },
    async events(
      principal: string,
      { run, afterSeq, follow, cursor }: Parameters<SessionApi['events']>[1],
    ): Promise<ReadableStream<Uint8Array>> {
      own(principal)
      if (cursor && !current.parts.store.findRun(cursor.run)) throw noSuchPlace(cursor.param)
      if (run !== undefined) row(run)
      await synced()
      const { store, runs, hub } = current.parts
      const isOpen = run === undefined ? !runs.isIdle() : runs.live(run) !== undefined
      const only = run !== undefined && { order: row(run).order }
      return hub.attach({
        afterSeq,
        ...defined({ run }),
        follow: follow && isOpen,
        upTo: store.lastSeq(),
        read: (after, upTo) => eventsPage(store, { after, upTo, ...only }),
      })
    },
    transcript(principal: string, { after }: TranscriptQuery): TranscriptPage {
      own(principal)
      const { store, transcript } = current.parts
      const from = after === undefined ? undefined : store.findRun(after)
      if (after !== undefined && !from) throw noSuchPlace('after')
      const { messages, next } = transcript.page(from?.order ?? 0)
      const last = next === undefined ? undefined : store.runs(next, next)[0]
      return { messages: messages.map(withoutOpaque), ...(last && { next: last.id }) }
    },
    items(principal: string, query: ItemsQuery): ItemsPage {
      own(principal)
      return itemsPage(current.parts.store, query)
    },
    about: (principal: string): SessionAbout => aboutOf(own(principal)),
    tree: async (principal: string, query: TreeQuery): Promise<SessionTree> =>
      treeOf({
        session: own(principal),
        query,
        parts: current.parts,
        sessions: runtime.sessions,
        viewOf: (run) => viewOf(run, viewOptions()),
      }),
  }
}
