import type { Notice } from '#runtime/session/types/schedule.ts'
import { bodies, type Tables } from './slot-rows.ts'

/** The notices of a principal, and its settings. */
export interface NoticeRows {
  readonly notices: (limit: number) => readonly Notice[]
  readonly addNotice: (notice: Notice, most: number) => void
  readonly dropNotice: (id: string) => boolean
  readonly setting: (name: string) => string | undefined
  readonly set: (name: string, value: string) => void
}

export const createNoticeRows = ({ read, write }: Tables): NoticeRows => ({
  notices: (limit) =>
    bodies(read('SELECT body FROM notices ORDER BY at_ms DESC, id LIMIT ?', limit)),
  addNotice: (notice, most) => {
    write(
      'INSERT INTO notices VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      notice.id,
      notice.atMs,
      JSON.stringify(notice),
    )
    write(
      'DELETE FROM notices WHERE id IN (SELECT id FROM notices ORDER BY at_ms DESC LIMIT -1 OFFSET ?)',
      most,
    )
  },
  dropNotice: (id) => read('DELETE FROM notices WHERE id = ? RETURNING id', id).length > 0,
  setting: (name) => {
    const [row] = read('SELECT value FROM settings WHERE name = ?', name)
    return row && String(row['value'])
  },
  set: (name, value) => void write('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value),
})
