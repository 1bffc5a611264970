import type { Destination } from '#contracts/destination.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'

/** The address, where the input names one. */
export const addressOf = (to: Destination | undefined): OutsideAddress | undefined =>
  to && 'url' in to ? to : undefined
