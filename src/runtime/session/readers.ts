import { withoutOpaque } from '#contracts/message-parts.ts'
import type { RunMemo, RunView } from './types/run-view.ts'
import type { ItemsPage, ItemsQuery } from './types/said-item.ts'
import type { SessionApi } from './types/session-api.ts'
import type {
  SessionAbout,
  SessionTree,
  TranscriptPage,
  TranscriptQuery,
  TreeQuery,
} from './types/session-view.ts'
import { itemsPage } from './responses/items.ts'
import { noSuchPlace, noSuchSession } from './storage/not-found.ts'
import type { Scope } from './scope.ts'
import { eventsPage } from './log/log-view.ts'
import { aboutOf, treeOf } from './log/tree.ts'
import { memoOf, viewOf } from './log/views.ts'

/** What a session answers to those who read it; each throws `request_not_found` for a session of somebody else. */
export interface Readers {
  readonly owner: () => string
  readonly result: (principal: string, run: string) => RunView
  readonly recall: (principal: string, run: string) => RunMemo
  readonly events: (
    principal: string,
    options: Parameters<SessionApi['events']>[1],
  ) => Promise<ReadableStream<Uint8Array>>
  readonly transcript: (principal: string, query: TranscriptQuery) => TranscriptPage
  readonly items: (principal: string, query: ItemsQuery) => ItemsPage
  readonly about: (principal: string) => SessionAbout
  readonly tree: (principal: string, query: TreeQuery) => Promise<SessionTree>
}

export function createReaders(scope: Scope): Readers {
  const { runtime, parts, own, row, view, viewOptions, synced } = scope
  return {
    owner() {
      const session = parts().store.session()
      if (!session) throw noSuchSession()
      return session.principal
    },
    result(principal, run) {
      own(principal)
      return view(run)
    },
    recall(principal, run) {
      own(principal)
      return memoOf(row(run), viewOptions())
    },
    async events(principal, { run, afterSeq, follow, cursor }) {
      own(principal)
      if (cursor && !parts().store.findRun(cursor.run)) throw noSuchPlace(cursor.param)
      if (run !== undefined) row(run)
      await synced()
      const { store, runs, hub } = parts()
      const isOpen = run === undefined ? !runs.isIdle() : runs.live(run) !== undefined
      const only = run !== undefined && { order: row(run).order }
      return hub.attach({
        afterSeq,
        ...(run !== undefined && { run }),
        follow: follow && isOpen,
        upTo: store.lastSeq(),
        read: (after, upTo) => eventsPage(store, { after, upTo, ...only }),
      })
    },
    transcript(principal, { after }) {
      own(principal)
      const { store, transcript } = parts()
      const from = after === undefined ? undefined : store.findRun(after)
      if (after !== undefined && !from) throw noSuchPlace('after')
      const { messages, next } = transcript.page(from?.order ?? 0)
      const last = next === undefined ? undefined : store.runs(next, next)[0]
      return { messages: messages.map(withoutOpaque), ...(last && { next: last.id }) }
    },
    items(principal, query) {
      own(principal)
      return itemsPage(parts().store, query)
    },
    about: (principal) => aboutOf(own(principal)),
    tree: async (principal, query) =>
      treeOf({
        session: own(principal),
        query,
        parts: parts(),
        sessions: runtime.sessions,
        viewOf: (run) => viewOf(run, viewOptions()),
      }),
  }
}
