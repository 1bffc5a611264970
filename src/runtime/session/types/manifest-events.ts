import * as z from 'zod'
import { subscriptionManifest } from '#contracts/event-bus.ts'

export type SubscriptionManifest = z.infer<typeof subscriptionManifest>
