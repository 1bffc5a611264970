import type { Message } from '#contracts/message.ts'
import type {
  ItemsPage,
  ItemsQuery,
  RunMemo,
  RunView,
  SessionApi,
  SessionTree,
} from '#contracts/session.ts'
import { itemsPage } from '../responses/items.ts'
import { noSuchSession } from '../runs/refusals.ts'
import type { Scope } from '../scope.ts'
import type { SessionRow } from '../storage/store.ts'
import { eventsPage } from './log-view.ts'
import { treeOf } from './tree.ts'
import { memoOf, viewOf } from './views.ts'

/** What a session answers to those who read it; each throws `request_not_found` for a session of somebody else. */
export interface Readers {
  readonly owner: () => string
  readonly result: (principal: string, run: string) => RunView
  readonly recall: (principal: string, run: string) => RunMemo
  readonly events: (
    principal: string,
    options: Parameters<SessionApi['events']>[1],
  ) => Promise<ReadableStream<Uint8Array>>
  readonly transcript: (principal: string) => readonly Message[]
  readonly items: (principal: string, query: ItemsQuery) => ItemsPage
  readonly tree: (session: SessionRow) => Promise<SessionTree>
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
    async events(principal, { run, afterSeq, follow }) {
      own(principal)
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
    transcript(principal) {
      own(principal)
      return parts().transcript.all()
    },
    items(principal, query) {
      own(principal)
      return itemsPage(parts().store, query)
    },
    tree: (session) =>
      treeOf({
        session,
        store: parts().store,
        sessions: runtime.sessions,
        viewOf: (run) => viewOf(run, viewOptions()),
      }),
  }
}
