import type { Json } from '#contracts/json.ts'
import type { MemoryEntry } from '#contracts/space.ts'
import type { SessionApi, SessionGateway } from '#runtime/session/types/session-api.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { SubmitAs } from '#runtime/session/types/session-entry.ts'
import { createSubmitAs } from '../../src/runtime/session/entry/submit-as.ts'
import { systemSources } from '../../src/compose/sources.ts'

/** The storage verbs of one session, in memory, without quotas. */
export function createMemoryStorage(): (request: StorageRequest) => Promise<StorageAnswer> {
  const values = new Map<string, Json>()
  const entries = new Map<string, readonly MemoryEntry[]>()
  let count = 0
  return async (request) => {
    const { space } = request
    switch (request.verb) {
      case 'get': {
        const value = values.get(`${space}/${request.key}`)
        return value === undefined ? { found: false } : { found: true, value }
      }
      case 'set':
        values.set(`${space}/${request.key}`, request.value)
        return {}
      case 'claim': {
        const at = `${space}/${request.key}`
        const found = values.get(at) === request.value
        values.set(at, request.value)
        return { found }
      }
      case 'delete':
        return { found: values.delete(`${space}/${request.key}`) }
      case 'list': {
        const keys = [...values.keys()]
          .filter((key) => key.startsWith(`${space}/${request.prefix}`))
          .sort()
        return { keys: keys.slice(0, request.limit).map((key) => key.slice(space.length + 1)) }
      }
      case 'append': {
        const entry = { id: `mem_${(count += 1)}`, text: request.text, atMs: count }
        entries.set(space, [...(entries.get(space) ?? []), entry].slice(-request.maxEntries))
        return { entries: [entry] }
      }
      case 'entries':
        return { entries: (entries.get(space) ?? []).slice(-request.limit) }
      case 'clear':
        entries.delete(space)
        return {}
    }
  }
}

/** The way in to these sessions. */
export const submitAsTo = (sessions: SessionGateway): SubmitAs =>
  createSubmitAs({ sessions, ids: systemSources.ids })

/** A gateway to sessions that answer what the test says; storage is in memory, one for each session. */
export function createFakeGateway(
  api: Partial<SessionApi> = {},
): SessionGateway & { readonly storages: ReadonlyMap<string, unknown> } {
  const storages = new Map<string, SessionApi['storage']>()
  const unexpected = (name: string) => async (): Promise<never> => {
    throw new Error(`${name} was not expected`)
  }
  return {
    storages,
    idFor: async (kind, parts) => `${kind}(${parts.join(',')})`,
    at: (session) => {
      const storage = storages.get(session) ?? createMemoryStorage()
      storages.set(session, storage)
      return {
        create: unexpected('create'),
        amend: unexpected('amend'),
        items: unexpected('items'),
        submit: unexpected('submit'),
        run: unexpected('run'),
        forgetTexts: unexpected('forgetTexts'),
        runStream: unexpected('runStream'),
        owner: unexpected('owner'),
        about: unexpected('about'),
        result: unexpected('result'),
        recall: unexpected('recall'),
        hide: unexpected('hide'),
        events: unexpected('events'),
        cancel: unexpected('cancel'),
        abandon: unexpected('abandon'),
        steer: unexpected('steer'),
        decide: unexpected('decide'),
        changeLimits: unexpected('changeLimits'),
        retry: unexpected('retry'),
        reclaim: unexpected('reclaim'),
        deliver: unexpected('deliver'),
        confirm: unexpected('confirm'),
        spentBy: unexpected('spentBy'),
        giveBack: unexpected('giveBack'),
        endHeld: unexpected('endHeld'),
        worksWith: unexpected('worksWith'),
        cancelCall: unexpected('cancelCall'),
        transcript: unexpected('transcript'),
        tree: unexpected('tree'),
        compact: unexpected('compact'),
        context: unexpected('context'),
        delete: unexpected('delete'),
        storage,
        ...api,
      }
    },
  }
}
