import type { Clock } from '#contracts/sources.ts'
import { createSessionGateway } from './gateway.ts'
import { createMeter } from './storage/meter.ts'
import { createSpace } from './storage/space.ts'

type GatewayParts = Parameters<typeof createSessionGateway>[0]

/** The way to every session, the storage of a tree, and what counts an object's rows, for the composition. */
export function composeSessions(parts: GatewayParts & { readonly clock: Clock }) {
  return {
    gateway: createSessionGateway(parts),
    createMeter,
    createSpace: (storage: DurableObjectStorage) => createSpace(storage, parts.clock),
  }
}
