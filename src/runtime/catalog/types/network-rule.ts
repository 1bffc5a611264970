import * as z from 'zod'
import { networkRuleSchema } from '#runtime/kernel/types/network-rule.ts'

/** The hosts that tools with a grant for every host may call without an approval. */
export type NetworkRule = z.infer<typeof networkRuleSchema>
