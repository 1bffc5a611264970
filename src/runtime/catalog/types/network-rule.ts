import * as z from 'zod'
import { networkRuleSchema } from '#runtime/kernel/types/network-rule.ts'

/** Where tools with a grant of every host may go without asking. */
export type NetworkRule = z.infer<typeof networkRuleSchema>
