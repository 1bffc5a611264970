import { plusPlatform } from '#contracts/platform-sum.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import { toReply, type Reply } from '#contracts/reply.ts'
import type { KeptParts } from './kept-parts.ts'
/**
 * What the object makes the platform do: each answer tells what came since the one before, and whoever asked carries that
 * to the record.
 */
export function createBill(kept: Pick<KeptParts, 'takeRead'>) {
  let counted: PlatformAmounts = {}
  const count = (amounts: PlatformAmounts): void => {
    counted = plusPlatform(counted, amounts)
  }
  return {
    count,
    reply: async <T>(work: () => Promise<T>): Promise<Reply<T>> => {
      count({ requests: 1 })
      const reply = await toReply(work)
      count({ rowsRead: kept.takeRead() })
      const own = counted
      counted = {}
      return { ...reply, billed: { own, others: {} } }
    },
  }
}
