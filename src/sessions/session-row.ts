import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { SessionApi, Submission } from '#contracts/session.ts'
import type { SessionRow, SessionStore } from './store.ts'

type About = Parameters<SessionApi['create']>[0]

/** The same key names the same session: what it was made with has to be the same too. */
export const isSameAs = (existing: SessionRow, about: About): boolean =>
  existing.agent === about.agent &&
  JSON.stringify(existing.limits ?? {}) === JSON.stringify(about.limits ?? {})

/** A session that is made before anything is said in it. */
export function created({ session: id, messages, ...about }: About, nowMs: number): SessionRow {
  return { id, ...about, ...(messages?.length && { preamble: messages }), createdAtMs: nowMs }
}

/** The session as it is from this submission on; `undefined` if that changes nothing. */
export function begun(
  existing: SessionRow | undefined,
  { agent, principal, lineage, isStateless }: Submission,
  now: { readonly id: string; readonly nowMs: number },
): SessionRow | undefined {
  if (!existing) {
    const about = {
      agent,
      principal,
      ...(lineage && { lineage }),
      ...(isStateless && { isStateless }),
    }
    return { id: now.id, ...about, createdAtMs: now.nowMs }
  }
  const { isStateless: wasStateless, ...named } = existing
  const isNamedNow = wasStateless && !isStateless
  if (existing.agent !== undefined && !isNamedNow) return undefined
  return { ...(isNamedNow ? named : existing), agent }
}

/** Changes what a session was made with. Throws `request_conflict` for messages once something was said in it. */
export function amendSession(
  store: SessionStore,
  session: SessionRow,
  { metadata, messages = [] }: Parameters<SessionApi['amend']>[1],
): void {
  if (messages.length > 0 && store.lastOrder() > 0) {
    const message = 'The conversation has begun: what is to be said goes into a response.'
    throw new IsolaError('request_conflict', message)
  }
  const preamble: readonly Message[] = [...(session.preamble ?? []), ...messages]
  store.writeSession({ ...session, preamble, ...(metadata && { metadata }) })
}
