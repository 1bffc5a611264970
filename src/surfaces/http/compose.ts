import type { Readiness } from '#contracts/operations.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Sources } from '#contracts/sources.ts'
import type { GoneClient } from '#platform/routes/types.ts'
import { fullName, type HttpModels } from '#platform/routes/targets.ts'

export interface ReadinessParts {
  /** The fault of the settings, answered to every request. */
  readonly configProblem: Error | undefined
  /** Whether the tables exist. */
  readonly readReadiness: () => Promise<Readiness>
}

interface GoneParts {
  readonly sessions: SessionGateway
  readonly sources: Sources
}

/** The dependencies of the surfaces, for the composition. */
export const composeHttp = <Deps extends GoneParts>(
  deps: Deps,
  { configProblem, readReadiness }: ReadinessParts,
) => ({
  ...deps,
  readiness: async () => {
    if (configProblem) throw configProblem
    return readReadiness()
  },
  onClientGone: async ({ session, run, principal, reader }: GoneClient): Promise<void> => {
    await deps.sources.clock.sleep(goneGraceMs)
    await deps.sessions.at(session).abandon(principal, run, reader)
  },
})

/** `<provider>/<model>` of a model as a request names it; nothing for one that is not served. */
export const fullNameIn =
  (models: () => HttpModels) =>
  (model: string): string | undefined =>
    fullName(models(), model)

/** A closed `/v1` stream is how chat clients say Stop; a lost connection may come back sooner. */
const goneGraceMs = 10_000
