import type { Sources } from '#contracts/sources.ts'
import { composeEntry, type RunInputParts } from './entry/run-input.ts'
import { createSessionGateway } from './gateway.ts'
import { createMeter } from './storage/meter.ts'
import { createSpace } from './storage/space.ts'

type GatewayParts = Parameters<typeof createSessionGateway>[0]

/**
 * Composes the gateway to sessions, the entry for surfaces, the storage of a session tree, and the meter of an
 * object.
 */
export function composeSessions(
  parts: GatewayParts & Pick<Sources, 'clock' | 'ids'> & Pick<RunInputParts, 'usage'>,
) {
  const sessions = createSessionGateway(parts)
  return {
    gateway: sessions,
    entry: composeEntry({ ...parts, sessions }),
    createMeter,
    createSpace: (storage: DurableObjectStorage) => createSpace(storage, parts.clock),
  }
}
