import { errorCode } from '#contracts/errors.ts'
import type { ErasedPerson, ErasurePlace } from '../types/operations.ts'
import type { KnowledgeGateway } from '../types/knowledge.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import { unwrap, type ObjectReply } from '#contracts/reply.ts'
import type { HeardOfPerson, ScheduleGateway } from '#runtime/session/types/schedule-object.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'

/** Parts of the places outside of D1. */
export interface PlaceParts {
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly sessionRows: {
    readonly of: (principal: string, limit: number) => Promise<readonly string[]>
    readonly remove: (id: string) => Promise<void>
  }
  readonly memory: MemoryGateway
  readonly knowledge: KnowledgeGateway
  /** Pages through the objects that keep subscriptions. */
  readonly subscribers: (after: number, limit: number) => Promise<readonly ScheduleKeeper[]>
  /** Sessions of others in which an agent of the person works. */
  readonly strangeSessions: (
    person: ErasedPerson,
    after: number,
    limit: number,
  ) => Promise<readonly { readonly id: string; readonly principal: string }[]>
  readonly schedules: Pick<ScheduleGateway, 'ask'>
  /** Empties the object of a principal. @returns How many rows there were. */
  readonly emptyObject: (principal: string) => Promise<number>
  /** Signs out at every MCP server. @returns The servers. */
  readonly forgetLogins: (principal: string) => Promise<readonly string[]>
  readonly kv: Pick<KVNamespace, 'list' | 'delete'>
}

const sessionsAtOnce = 8
const othersAtOnce = 20
const firingsAtOnce = 50

/** The places of a person's data other than rows of D1. */
export function createPlaces(parts: PlaceParts): readonly ErasurePlace[] {
  const { sessions, sessionRows, memory, knowledge, emptyObject, forgetLogins, kv } = parts
  const { subscribers, strangeSessions, schedules } = parts

  async function deleteSession(id: string, principal: string): Promise<void> {
    try {
      unwrap(await sessions.at(id).delete(principal))
    } catch (error) {
      if (errorCode(error) !== 'request_not_found') throw error
      await sessionRows.remove(id)
    }
  }
  /** A deleted session has nothing to forget: `undefined`. */
  const ifThere = async <T>(asked: Promise<ObjectReply<T>>): Promise<T | undefined> => {
    try {
      return unwrap(await asked)
    } catch (error) {
      if (errorCode(error) !== 'request_not_found') throw error
      return undefined
    }
  }
  /** Erases a firing: its own session is deleted, a shared session loses the firing's texts. */
  async function forgetFiring(heard: HeardOfPerson): Promise<void> {
    const { session, isShared, deliveredTo, asker, texts } = heard
    if (session !== undefined && !isShared) await deleteSession(session, asker)
    const others = [isShared ? session : undefined, deliveredTo].flatMap((one) => one ?? [])
    for (const one of others) await ifThere(sessions.at(one).forgetTexts(asker, texts))
  }
  async function forgetHeardBy(keeper: ScheduleKeeper, principal: string): Promise<number> {
    const heard = await schedules.ask(keeper, 'heardOf', { principal, limit: firingsAtOnce })
    if (heard.length === 0) return 0
    for (const one of heard) await forgetFiring(one)
    // The notices of a plugin's subscription are in the object of the principal that gets them. A firing without a
    // schedule has no such object.
    const askers = heard.flatMap(({ asker }) => (asker === '' ? [] : [asker]))
    const told = new Set(askers.map((asker) => `principal:${asker}` as const))
    const slots = heard.map(({ slot }) => slot)
    for (const one of told) await schedules.ask(one, 'forgetHeard', { slots })
    await schedules.ask(keeper, 'forgetHeard', { slots })
    return heard.length
  }
  return [
    {
      name: 'what subscriptions of others heard',
      async erase({ principal }, after) {
        const keepers = await subscribers(after, othersAtOnce)
        const others = keepers.filter((one) => one !== `principal:${principal}`)
        const counts: number[] = []
        for (const keeper of others) counts.push(await forgetHeardBy(keeper, principal))
        const isMore = counts.some((count) => count === firingsAtOnce)
        const next = isMore ? after : after + othersAtOnce
        return {
          erased: counts.reduce((sum, count) => sum + count, 0),
          ...((isMore || keepers.length === othersAtOnce) && { next }),
        }
      },
    },
    {
      name: 'agents in conversations of others',
      async erase(person, after) {
        const found = await strangeSessions(person, after, othersAtOnce)
        let erased = 0
        for (const { id, principal } of found) {
          const done = await ifThere(sessions.at(id).forgetTexts(principal, 'agent'))
          erased += done?.changed ?? 0
        }
        return { erased, ...(found.length === othersAtOnce && { next: after + othersAtOnce }) }
      },
    },
    {
      name: 'sessions',
      async erase({ principal }, after) {
        const ids = await sessionRows.of(principal, sessionsAtOnce)
        const done = await Promise.allSettled(ids.map((id) => deleteSession(id, principal)))
        const failed = done.find((one) => one.status === 'rejected')
        if (failed) throw failed.reason
        return { erased: ids.length, ...(ids.length > 0 && { next: after + 1 }) }
      },
    },
    {
      name: 'notes of the deployment',
      erase: async ({ principal }) =>
        toStep(await memory.ofDeployment()({ verb: 'forgetWriter', principal })),
    },
    {
      name: 'documents of the deployment',
      erase: async ({ principal }) =>
        toStep(await knowledge.ofDeployment()({ verb: 'forgetWriter', principal })),
    },
    {
      name: 'sign-ins at MCP servers',
      erase: async ({ principal }) => ({ erased: (await forgetLogins(principal)).length }),
    },
    {
      name: 'tokens',
      async erase({ principal }) {
        const names = ['grant', 'token'].map((kind) => `${kind}:${encodeURIComponent(principal)}:`)
        const pages = await Promise.all(names.map((prefix) => kv.list({ prefix })))
        const keys = pages.flatMap((page) => page.keys.map(({ name }) => name)).slice(0, 500)
        await Promise.all(keys.map((key) => kv.delete(key)))
        return { erased: keys.length }
      },
    },
    {
      name: 'memory, documents, schedules and settings',
      async erase({ principal }) {
        // Forgotten through the object's own calls first, so that its memory does not keep what its rows lose.
        const notes = toStep(await memory.ofPrincipal(principal)({ verb: 'forget' }))
        const documents = toStep(await knowledge.ofPrincipal(principal)({ verb: 'forget' }))
        return { erased: notes.erased + documents.erased + (await emptyObject(principal)) }
      },
    },
  ]
}

const toStep = ({ forgotten = 0 }: { readonly forgotten?: number }) => ({ erased: forgotten })
