import type { Sources } from '#contracts/sources.ts'
import { composeEntry } from './entry/compose.ts'
import type { RunInputParts } from './entry/run-input.ts'
import type { SubmitParts } from './entry/submit-as.ts'
import { createSessionGateway } from './gateway.ts'
import { createMeter } from './storage/meter.ts'
import { createSpace } from './storage/space.ts'

type GatewayParts = Parameters<typeof createSessionGateway>[0]

/** The way to every session, what surfaces have work done with, the storage of a tree, and what counts an object's rows, for the composition. */
export function composeSessions(
  parts: GatewayParts &
    Pick<Sources, 'clock' | 'ids'> &
    Pick<RunInputParts, 'usage'> &
    Pick<SubmitParts, 'isCatalogSilent'>,
) {
  const sessions = createSessionGateway(parts)
  return {
    gateway: sessions,
    entry: composeEntry({ ...parts, sessions }),
    createMeter,
    createSpace: (storage: DurableObjectStorage) => createSpace(storage, parts.clock),
  }
}
