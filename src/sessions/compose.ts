import type { Clock } from '#contracts/sources.ts'
import { createSessionGateway } from './gateway.ts'
import { createSpace } from './storage/space.ts'

type GatewayParts = Parameters<typeof createSessionGateway>[0]

/** The way to every session, and the storage of a tree, for the composition. */
export function composeSessions(parts: GatewayParts & { readonly clock: Clock }) {
  return {
    gateway: createSessionGateway(parts),
    createSpace: (storage: DurableObjectStorage) => createSpace(storage, parts.clock),
  }
}
