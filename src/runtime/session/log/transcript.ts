import type { Compaction } from '#contracts/context.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { spokenIn } from '../floor/message-router.ts'
import { answeredIn, lastTurnOf } from '../responses/response-places.ts'
import { saidAtBeginning, type RunRow } from '../storage/stored-rows.ts'
import { addedBetween } from '../storage/session-row.ts'
import { runBefore, type SessionStore } from '../storage/store.ts'

/** The conversation that a run goes on from. */
interface SaidBefore {
  readonly messages: readonly Message[]
  /** The last compactions along the same branch, oldest first. */
  readonly compactions: readonly Compaction[]
}

/**
 * The conversation of a session, as a view over its rows. A run goes on from the run before it, or from a place it
 * names.
 */
export type Transcript = ReturnType<typeof createTranscript>

/** A longer page ends: it is in memory several times until it is sent. */
const maxPageChars = 1_000_000
/** The newest compaction is used; if it does not fit the messages, the one before it. */
const maxRecords = 2

const lastOf = (records: readonly Compaction[]): readonly Compaction[] => records.slice(-maxRecords)
const recordsIn = (turns: readonly TurnRecord[]): readonly Compaction[] =>
  lastOf(turns.flatMap(({ compactions = [] }) => compactions))

export function createTranscript(store: SessionStore) {
  const preamble = () => store.session()?.preamble ?? []
  const added = (from: number, to?: number): Message[] =>
    addedBetween(store.session() ?? {}, from, to).flatMap(({ messages }) => messages)
  let known: Message[] = []
  let records: readonly Compaction[] = []
  const leftOver = new WeakSet<Message>()
  let read: RunRow | undefined
  /** The messages of a failed run: they join `known` only if the next run succeeds. */
  let vain: readonly Message[] = []

  const ofRun = (row: RunRow, turns: readonly TurnRecord[]): Message[] => {
    const seen = turns.reduce((sum, { received = [] }) => sum + received.length, 0)
    const late = (row.inbox ?? []).slice(seen).filter(({ begins }) => !begins)
    const said = [
      ...saidAtBeginning(row),
      ...turns.flatMap((turn) => toTurnSaid(turn).messages),
      ...late.map(({ message }) => message),
    ]
    if (turns.at(-1)?.final?.state === 'failed') for (const one of said) leftOver.add(one)
    return said
  }

  /** The conversation of a run: all of it, or up to the response from which the next run goes on. */
  const upTo = (row: RunRow, next: RunRow): SaidBefore => {
    const { after, messages } = next.submission
    const turns = store.turns(row.order)
    const last = after && lastTurnOf(turns, after.turn)
    if (last === undefined) return { messages: ofRun(row, turns), compactions: recordsIn(turns) }
    // The next run has the results of the client's tools, maybe others than before.
    const answered = answeredIn(messages)
    const isKept = (message: Message) => message.role !== 'tool' || !answered.has(message.callId)
    const gone = turns.filter(({ turn }) => turn <= last)
    const said = gone.flatMap((turn) => toTurnSaid(turn).messages)
    return {
      messages: [...saidAtBeginning(row), ...said.filter(isKept)],
      compactions: recordsIn(gone),
    }
  }

  /** The conversation from the first run on, if each run goes on from all of the run before it. */
  const inOneLine = (row: RunRow): SaidBefore | undefined => {
    const rest: Message[] = []
    let compactions = records
    let previous = read
    let inVain = vain
    for (const next of upToRun(row)) {
      if (previous && !followsAll(next, previous)) return undefined
      const before = next.submission.after ? [] : added(previous?.order ?? 0, next.order)
      if (next === row) {
        rest.push(...inVain, ...before)
        break
      }
      const turns = store.turns(next.order)
      const said = ofRun(next, turns)
      const isVain = cameToNothing(turns, said)
      const isReplaced = isVain && before.length === 0
      const messages = [...(isReplaced ? [] : inVain), ...before, ...(isVain ? [] : said)]
      inVain = isVain ? said : []
      compactions = lastOf([...compactions, ...recordsIn(turns)])
      // A parked run may still change, and with it everything after it.
      if (rest.length > 0 || !turns.at(-1)?.final) rest.push(...messages)
      else {
        known.push(...messages)
        records = compactions
        read = next
        vain = inVain
      }
      previous = next
    }
    return { messages: [...preamble(), ...known, ...rest], compactions }
  }

  /** The runs after the known ones, one at a time: reading stops at the first run that leaves the line. */
  function* upToRun(row: RunRow): Iterable<RunRow> {
    for (let order = (read?.order ?? 0) + 1; order < row.order; order += 1) {
      const [next] = store.runs(order, order)
      if (next) yield next
    }
    yield row
  }

  const followsAll = ({ submission: { after } }: RunRow, previous: RunRow): boolean =>
    !after ||
    (after.run === previous.id && lastTurnOf(store.turns(previous.order), after.turn) === undefined)

  const previousOf = ({ order, submission: { after } }: RunRow): RunRow | undefined =>
    after ? store.findRun(after.run) : runBefore(store, order)

  const alongItsBranch = (row: RunRow): SaidBefore => {
    const parts: (readonly Message[])[] = []
    let compactions: readonly Compaction[] = []
    let isVainAfter = false
    for (let next = row; ;) {
      const before = previousOf(next)
      if (!before || before.order >= next.order)
        return { messages: [...preamble(), ...parts.reverse().flat()], compactions }
      const said = upTo(before, next)
      const between = next.submission.after ? [] : added(before.order, next.order)
      const isVain = cameToNothing(store.turns(before.order), said.messages)
      const isReplaced = isVain && isVainAfter && between.length === 0
      parts.push(between, isReplaced ? [] : said.messages)
      isVainAfter = isVain
      compactions = lastOf([...said.compactions, ...compactions])
      next = before
    }
  }

  return {
    /** The conversation before a run. Finished runs do not change, so they are read once. */
    before: (row: RunRow) =>
      (isBehind(row, read) ? undefined : inOneLine(row)) ?? alongItsBranch(row),
    /** Whether a failed run has this message. */
    isLeftOver: (message: Message) => leftOver.has(message),
    /** Everything of every branch in accept order, the run under way included, from behind one run to another. */
    page: (after: number) => pageOf(store, { preamble, ofRun, added }, after),
    /** A finished run got an outcome: its messages are read again. */
    forget: () => {
      known = []
      records = []
      read = undefined
      vain = []
    },
  }
}

/** A page of the conversation behind one run. */
function pageOf(
  store: SessionStore,
  {
    preamble,
    ofRun,
    added,
  }: {
    readonly preamble: () => readonly Message[]
    readonly ofRun: (row: RunRow, turns: readonly TurnRecord[]) => readonly Message[]
    readonly added: (from: number, to?: number) => readonly Message[]
  },
  after: number,
): { readonly messages: readonly Message[]; readonly next?: number } {
  const last = store.lastOrder()
  const messages: Message[] = after === 0 ? [...preamble()] : []
  let chars = 0
  for (let order = after + 1; order <= last; order += 1) {
    const [row] = store.runs(order, order)
    const said = [
      ...(row ? asSpoken(row, store.turns(order), ofRun) : []),
      ...added(order, order + 1),
    ]
    messages.push(...said)
    chars += JSON.stringify(said).length
    if (chars > maxPageChars && order < last) return { messages, next: order }
  }
  return { messages }
}

/** For people: the answer of the agent that has the conversation is a message of that agent. */
function asSpoken(
  row: RunRow,
  turns: readonly TurnRecord[],
  ofRun: (row: RunRow, turns: readonly TurnRecord[]) => readonly Message[],
): readonly Message[] {
  const spoken = turns.flatMap((turn) => spokenIn(row, turn))
  const said = ofRun(row, turns)
  return row.passedOn && spoken.length > 0
    ? [...said.filter(({ role }) => role === 'user'), ...spoken]
    : [...said, ...spoken]
}

/**
 * The run failed before any answer. Of several such runs in a row only the last one's messages stay: a caller that
 * tries again repeats its message, and a request that is refused for its length would only grow.
 */
const cameToNothing = (turns: readonly TurnRecord[], said: readonly Message[]): boolean =>
  turns.at(-1)?.final?.state === 'failed' && said.every(({ role }) => role === 'user')

/** The run was taken up again after later runs had been read. */
const isBehind = ({ order }: RunRow, read: RunRow | undefined): boolean =>
  read !== undefined && read.order >= order
