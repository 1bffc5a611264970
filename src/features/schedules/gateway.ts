import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { pluginServiceParts } from '#features/plugins/types/plugin-service.ts'
import { fromReply } from '#contracts/reply.ts'
import type {
  ScheduleApi,
  ScheduleGateway,
  ScheduleRequest,
  ScheduleVerb,
  ScheduleVerbs,
} from '#runtime/session/types/schedule-object.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'

/** The part of a Durable Object namespace that this module needs. */
interface Namespace {
  readonly getByName: (name: string) => unknown
}

export interface GatewayDeps {
  /** By the tag of an owner. */
  readonly namespaces: { readonly principal: Namespace; readonly plugin: Namespace }
  readonly sha256: (text: string) => string
}

/** Calls the object that keeps a schedule. An object that does not answer is `request_unavailable`. */
export function createScheduleGateway({ namespaces, sha256 }: GatewayDeps): ScheduleGateway {
  const at = (keeper: ScheduleKeeper): ScheduleApi => {
    const name = keeper.slice(keeper.indexOf(':') + 1)
    const isPlugin = keeper.startsWith('plugin:')
    const parts = isPlugin ? pluginServiceParts(name) : principalParts(name)
    const namespace = isPlugin ? namespaces.plugin : namespaces.principal
    return namespace.getByName(sha256(lengthPrefixed(parts))) as ScheduleApi
  }
  return {
    async ask<Verb extends ScheduleVerb>(
      keeper: ScheduleKeeper,
      verb: Verb,
      ask: ScheduleVerbs[Verb]['ask'],
    ) {
      const request = { verb, ask } as ScheduleRequest // a pair of the table, as the arguments say
      const reply = await at(keeper)
        .schedules(request)
        .catch((cause: unknown) => {
          if (errorCode(cause) !== undefined) throw cause
          const message = 'The schedules cannot be reached at the moment. Try again.'
          const detail = errorMessage(cause)
          throw new IsolaError('request_unavailable', message, {
            transient: true,
            retryAfterMs: 5_000,
            detail,
            cause,
          })
        })
      return fromReply(reply) as ScheduleVerbs[Verb]['answer']
    },
  }
}
