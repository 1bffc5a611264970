import * as z from 'zod'
import { subscriptionManifest } from '#contracts/manifest/manifest-events.ts'

export type SubscriptionManifest = z.infer<typeof subscriptionManifest>
