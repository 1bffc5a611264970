import { describe, expect, it } from 'vitest'
import { eventsPage, pagesAfter } from '../../../src/runtime/session/log/log-view.ts'
import { createSessionStore } from '../../../src/runtime/session/storage/store.ts'
import { createTodo } from '../../../src/runtime/session/storage/todo.ts'
import { runAt, turnOf as finishedTurn } from '../../fakes/stored-runs.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const opened = () => {
  const { storage, sqlite, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
  const store = createSessionStore(storage)
  store.writeSession({ id: 'ses_1', agent: 'tester', principal: 'operator', createdAtMs: 1 })
  return { storage, sqlite, failWhere, store }
}
type Store = ReturnType<typeof opened>['store']

/** A turn with events at these places. */
function turnOf(turn: number, seqs: readonly number[], isFinal = false) {
  const { final, events, ...rest } = finishedTurn(1)
  const told = seqs.map((seq) => ({ ...events[0]!, seq }))
  return { ...rest, turn, events: told, isDone: isFinal, ...(isFinal && final && { final }) }
}

const placesFrom = (store: Store, after: number): number[] => {
  const seqs: number[] = []
  for (let from = after; ;) {
    const page = eventsPage(store, { after: from, upTo: store.lastSeq() })
    if (page.length === 0) return seqs
    seqs.push(...page.map(({ seq }) => seq))
    from = page.at(-1)!.seq
  }
}
const upTo = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

describe('a log with gaps', () => {
  it('I16: is read whole from any place where runs are missing that were declined', () => {
    const { store } = opened()
    let seq = 0
    for (const order of [1, 2, 3, 5, 6]) {
      store.addRun(runAt(order, { startSeq: (seq += 1) }))
      store.writeTurn(order, turnOf(1, [(seq += 1), (seq += 1)]))
      store.writeTurn(order, turnOf(2, [(seq += 1), (seq += 1)], true))
    }
    for (let from = 0; from < seq; from += 1)
      expect(placesFrom(store, from)).toEqual(upTo(from + 1, seq))
  })

  it('I16: is read to its end behind a run that never began', () => {
    const { store } = opened()
    const { startSeq: _none, ...unbegun } = runAt(100)
    let seq = 0
    for (let order = 1; order <= 200; order += 1) {
      if (order === 100) store.addRun(unbegun)
      else {
        store.addRun(runAt(order, { startSeq: (seq += 1) }))
        store.writeTurn(order, turnOf(1, [(seq += 1)], true))
      }
    }
    for (const from of [0, 150, 199, 300])
      expect(placesFrom(store, from)).toEqual(upTo(from + 1, seq))
  })
})

describe('a backlog that is carried while its session works', () => {
  it('E9: leaves out nothing that was written meanwhile', () => {
    const { store } = opened()
    let seq = 0
    for (let order = 1; order <= 30; order += 1) {
      store.addRun(runAt(order, { startSeq: (seq += 1) }))
      store.writeTurn(order, turnOf(1, [(seq += 1), (seq += 1)], order < 30))
    }
    store.keepOpen(30)
    const before = [seq - 1, seq]
    const carried: number[] = []
    let isFirst = true
    while ((carried.at(-1) ?? 0) < store.lastSeq()) {
      for (const page of pagesAfter(store, carried.at(-1) ?? 0, 20)) {
        carried.push(...page.map((event) => event.seq))
        if (!isFirst) continue
        isFirst = false
        store.addRun(runAt(31, { startSeq: (seq += 1) }))
        store.writeTurn(31, turnOf(1, [(seq += 1), (seq += 1)], true))
        store.writeTurn(30, turnOf(1, [...before, (seq += 1), (seq += 1)], true))
      }
    }
    expect(carried).toEqual(upTo(1, seq))
  })
})

describe('a row of work that is still to do', () => {
  it('F36: is noted again after the step that made its table was taken back', () => {
    const { storage, store, failWhere } = opened()
    const todo = createTodo(storage)
    store.onForget(todo.forget)
    let writes = 0
    failWhere((query) => query.startsWith('INSERT OR REPLACE INTO todo') && (writes += 1) === 2)
    const both = () =>
      store.together(() => {
        todo.addTrace('one', 0)
        todo.addTrace('other', 0)
      })
    expect(both).toThrow()
    both()
    expect(todo.traces()).toHaveLength(2)
  })
})
