import { joinLabels, ownLabel, saidLabel, type Label } from '#contracts/label.ts'
import type { Clock } from '#contracts/sources.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { Asker } from '#runtime/session/types/session-entry.ts'

/**
 * The labels of all results that MCP clients were given. Their models are not ours: a client's next text can come
 * from every earlier result, of whichever call.
 */
export interface ToldClients {
  /** The label of a client's text. Never rejects: least trusted where the storage cannot be read. */
  readonly said: (asker: Asker) => Promise<Label>
  /**
   * Notes that the client receives a result with this label: least trusted if absent. Rejects where the label cannot
   * be stored.
   */
  readonly tell: (asker: Asker, label: Label | undefined) => Promise<void>
}

/** The end of a client's conversation is not ours to see: it counts for the day and for the next one. */
const dayMs = 24 * 3_600_000
const space = 'mcp-clients'
const quotaBytes = 65_536

/** Keeps it with the principal, by the key or the sign-in that asks. */
export function createToldClients(
  storageOf: (principal: string) => (request: StorageRequest) => Promise<StorageAnswer>,
  clock: Clock,
): ToldClients {
  const today = () => Math.floor(clock.nowMs() / dayMs)
  const placeOf = ({ grant, key }: Asker, day: number) => `${grant ?? key ?? 'own'} ${day} `
  const keysOf = (asker: Asker, prefix: string) =>
    storageOf(asker.id)({ verb: 'list', space, prefix, limit: 1_000 })
  const known = async (asker: Asker, day: number): Promise<Label> => {
    const { keys = [], label } = await keysOf(asker, placeOf(asker, day))
    return keys.length === 0 ? ownLabel : joinLabels([label])
  }
  /** Of all keys and sign-ins of the principal: credentials that are out of use leave no rows. */
  const removeOver = async (asker: Asker) => {
    const { keys = [] } = await keysOf(asker, '')
    const over = keys.filter((key) => Number(key.split(' ')[1]) < today())
    for (const key of over) await storageOf(asker.id)({ verb: 'delete', space, key })
  }
  return {
    said: async (asker) =>
      joinLabels([saidLabel, await known(asker, today()).catch(() => undefined)]),
    async tell(asker, given) {
      const label = joinLabels([given])
      const days = [today(), today() + 1] as const
      // Tomorrow's label is included in today's.
      const before = joinLabels([saidLabel, await known(asker, days[1])])
      if (JSON.stringify(joinLabels([before, label])) === JSON.stringify(before)) return
      for (const day of days) {
        // Joined by the storage: parallel calls do not overwrite each other's label.
        const set = { verb: 'set', space, value: 1, label, quotaBytes } as const
        const key = `${placeOf(asker, day)}all`
        await storageOf(asker.id)({ ...set, key, joins: true, evicts: true })
      }
      await removeOver(asker).catch(() => undefined)
    },
  }
}
