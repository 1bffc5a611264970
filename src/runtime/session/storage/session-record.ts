import type { LogTable } from './log-table.ts'

interface Identified {
  readonly id: string
  readonly isDeleted?: boolean
}

/** The session's own row, read once. While the session is being removed, the row is not read and not written. */
export interface SessionRecord<Session> {
  readonly session: () => Session | undefined
  readonly writeSession: (session: Session) => void
  readonly close: () => void
  readonly isClosed: () => boolean
}

export function createSessionRecord<Session extends Identified>(
  table: Pick<LogTable<unknown>, 'read' | 'make' | 'write' | 'close' | 'onForget'>,
): SessionRecord<Session> {
  let known: Session | undefined
  let isClosed = false
  table.onForget(() => (known = undefined))

  const read = (): Session | undefined => {
    const parts = table.read('SELECT body FROM log WHERE run = 0 ORDER BY part')
    const text = parts.map(({ body }) => String(body)).join('')
    const session = text === '' ? undefined : (JSON.parse(text) as Session)
    isClosed = session?.isDeleted === true
    if (isClosed) table.close()
    return isClosed ? undefined : session
  }
  const session = () => (known ??= read())

  return {
    session,
    writeSession(next) {
      const isNew = session() === undefined
      table.make()
      table.write({ run: 0, turn: 0, id: next.id, isNew }, next)
      known = next
    },
    close() {
      const open = session()
      if (open) table.write({ run: 0, turn: 0, id: open.id }, { ...open, isDeleted: true })
      table.close()
    },
    isClosed() {
      session()
      return isClosed
    },
  }
}
