import { joinLabels, ownLabel, saidLabel, type Label } from '#contracts/label.ts'
import type { Clock } from '#contracts/sources.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { Asker } from '#contracts/submit-as.ts'

/**
 * What was given to MCP clients. Their models are not ours: of what they ask for next is known only that it can come
 * from what they were given before, by whichever call.
 */
export interface ToldClients {
  /** Of what a client says now. Never rejects: the worst where nobody knows. */
  readonly said: (asker: Asker) => Promise<Label>
  /** It is given something with this label: the worst if absent. Rejects where that cannot be kept. */
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
  const known = async (asker: Asker, day: number): Promise<Label> => {
    const prefix = placeOf(asker, day)
    const { keys = [], label } = await storageOf(asker.id)({
      verb: 'list',
      space,
      prefix,
      limit: 100,
    })
    return keys.length === 0 ? ownLabel : joinLabels([label])
  }
  return {
    said: async (asker) =>
      joinLabels([saidLabel, await known(asker, today()).catch(() => undefined)]),
    async tell(asker, given) {
      const label = joinLabels([given])
      const days = [today(), today() + 1] as const
      const before = joinLabels([saidLabel, await known(asker, days[1])])
      if (JSON.stringify(joinLabels([before, label])) === JSON.stringify(before)) return
      for (const day of days) {
        // One for each level, so that calls side by side do not write over each other's.
        const key = `${placeOf(asker, day)}${label.integrity} ${label.confidentiality}`
        await storageOf(asker.id)({
          verb: 'set',
          space,
          key,
          value: 1,
          label: joinLabels([before, label]),
          quotaBytes,
          evicts: true,
        })
      }
    },
  }
}
