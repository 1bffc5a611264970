import type { DeploymentEvent, SessionEvent, ToldEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'

/** Events with only the fields that a test looks at: the code that carries them does not read them. */
export const storedEvent = (event: object): SessionEvent => event as SessionEvent
export const toldEvent = (event: object): ToldEvent => event as ToldEvent
export const deploymentEventOf = (event: object): DeploymentEvent => event as DeploymentEvent

/** The payload of an event of whatever kind. */
export const dataOf = ({ data }: { readonly data: object }): JsonObject => data as JsonObject
