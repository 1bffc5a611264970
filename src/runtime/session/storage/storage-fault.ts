import { errorCode, errorMessage } from '#contracts/errors.ts'

/** The platform's words for a write or read that its SQLite could not do: full, locked, or the disk's fault. */
export const isStorageFault = (error: unknown): boolean =>
  errorCode(error) === undefined && /\bSQLITE_[A-Z]+/.test(errorMessage(error))
