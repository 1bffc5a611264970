import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import type { SessionIndex } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Where } from './places.ts'

const sessionsAtOnce = 20

export interface ForgetQuotesDeps {
  readonly memory: MemoryGateway
  readonly sessions: SessionGateway
  readonly sessionIndex: Pick<SessionIndex, 'idsOf'>
}

/** Takes what a note says out of some conversations of its principal. @returns From how many, and where to go on. */
export async function forgetQuotes(
  { memory, sessions, sessionIndex }: ForgetQuotesDeps,
  principal: string,
  { id, after = '', scope }: Where & { readonly id: string; readonly after?: string | undefined },
): Promise<{ readonly sessions: number; readonly next?: string }> {
  if (scope === 'deployment') {
    const message =
      'everywhere: what the deployment remembers may be quoted in anybody’s conversations, which are theirs.'
    throw new IsolaError('request_invalid', message, { param: 'everywhere' })
  }
  const { notes = [] } = await memory.ofPrincipal(principal)({ verb: 'get', id })
  const texts = notes.flatMap(({ text, speaker, caption }) => [
    [speaker, text].filter(Boolean).join(' '),
    text,
    ...(caption === undefined ? [] : [caption]),
  ])
  const ids = await sessionIndex.idsOf(principal, { after, limit: sessionsAtOnce })
  let changed = 0
  const busy: string[] = []
  for (const session of ids) {
    try {
      if (unwrap(await sessions.at(session).forgetTexts(principal, texts)).changed > 0) changed += 1
    } catch (error) {
      // It was deleted meanwhile.
      if (errorCode(error) === 'request_not_found') continue
      if (errorCode(error) !== 'request_conflict') throw error
      busy.push(session)
    }
  }
  // The others are done by now: the same again does only what is left.
  if (busy.length > 0) throw stillBusy(busy)
  const next = ids.length === sessionsAtOnce ? { next: ids.at(-1)! } : {}
  return { sessions: changed, ...next }
}

function stillBusy(sessions: readonly string[]): IsolaError {
  const cancels = sessions.map((session) => `isola session cancel ${session}`).join(', ')
  const message = `A run is not over, or waits for somebody, in ${sessions.join(', ')}: what it was told cannot be taken out before its end. Wait for it or cancel it (${cancels}), and ask again. The note is kept until then.`
  return new IsolaError('request_conflict', message)
}
