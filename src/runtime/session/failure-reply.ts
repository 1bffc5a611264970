import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { toFailureReply, type Reply } from '#contracts/reply.ts'
import { isStorageFault } from './storage/storage-fault.ts'

/** An expected failure as a value: classes do not survive RPC. A bug is thrown. */
export function failureReply(
  error: unknown,
  onStorageFault: (message: string) => void,
): Extract<Reply<never>, { readonly ok: false }> {
  const isFault = isStorageFault(error)
  if (isFault) onStorageFault(errorMessage(error))
  return toFailureReply(isFault ? notStored(error) : error)
}

/** The session could not even be loaded. */
export const cannotOpen = (cause: unknown) =>
  unavailable('The session cannot be opened at the moment. Try again.', cause)

const notStored = (cause: unknown) =>
  unavailable(
    'The session could not be stored just now; nothing of this was kept. Try again.',
    cause,
  )

const unavailable = (message: string, cause: unknown) =>
  new IsolaError('request_unavailable', message, { retryAfterMs: 2_000, cause })
