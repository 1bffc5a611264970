import { errorCode } from '#contracts/errors.ts'
import type { ErasurePlace } from '#contracts/erasure.ts'
import type { KnowledgeGateway } from '#contracts/knowledge.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#contracts/session-api.ts'

/** What the places outside of D1 are made from. */
export interface PlaceParts {
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly sessionRows: {
    readonly of: (principal: string, limit: number) => Promise<readonly string[]>
    readonly remove: (id: string) => Promise<void>
  }
  readonly memory: MemoryGateway
  readonly knowledge: KnowledgeGateway
  /** Empties the object of a principal. @returns How many rows there were. */
  readonly emptyObject: (principal: string) => Promise<number>
  /** Signs out at every MCP server. @returns At which. */
  readonly forgetLogins: (principal: string) => Promise<readonly string[]>
  readonly kv: Pick<KVNamespace, 'list' | 'delete'>
}

const sessionsAtOnce = 8

/** Where things of a person are that are no rows of D1. */
export function createPlaces(parts: PlaceParts): readonly ErasurePlace[] {
  const { sessions, sessionRows, memory, knowledge, emptyObject, forgetLogins, kv } = parts

  async function deleteSession(id: string, principal: string): Promise<void> {
    try {
      unwrap(await sessions.at(id).delete(principal))
    } catch (error) {
      if (errorCode(error) !== 'request_not_found') throw error
      await sessionRows.remove(id)
    }
  }
  return [
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
        // What the object has of them in its memory goes with their rows.
        const notes = toStep(await memory.ofPrincipal(principal)({ verb: 'forget' }))
        const documents = toStep(await knowledge.ofPrincipal(principal)({ verb: 'forget' }))
        return { erased: notes.erased + documents.erased + (await emptyObject(principal)) }
      },
    },
  ]
}

const toStep = ({ forgotten = 0 }: { readonly forgotten?: number }) => ({ erased: forgotten })
