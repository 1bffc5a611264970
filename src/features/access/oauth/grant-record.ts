import { headOf } from '#contracts/cut.ts'
import {
  deploymentEvent,
  type DeploymentEvent,
  type DeploymentEventData,
  type DeploymentEventType,
} from '#contracts/event.ts'
import type { OAuthGrant } from '../types/oauth.ts'
import type { Client } from '#contracts/operations.ts'

/** What the record has of a sign-in. No token, no code, no key. */
export function eventOf<Type extends Extract<DeploymentEventType, `oauth_${string}`>>(
  type: Type,
  at: { readonly principal?: string; readonly nowMs: number; readonly client?: Client },
  data: DeploymentEventData<Type>,
): DeploymentEvent {
  const { principal = '', nowMs: atMs, client } = at
  const request = client?.requestId === undefined ? {} : { request: client.requestId }
  return deploymentEvent(type, { principal, trace: '', atMs }, { ...data, ...request })
}

/** A client says what it likes about itself: the record keeps the beginning. */
export const short = (text: string): string => headOf(text, 200)

/** A grant as the record has it: names are shortened, tokens are not in it. */
export function grantData(grant: OAuthGrant): DeploymentEventData<'oauth_granted'> {
  const { id, client, clientName, redirectUri, resource, scopes, signedInWith } = grant
  return {
    grant: id,
    client: short(client),
    clientName: short(clientName),
    redirectUri: short(redirectUri),
    resource,
    scopes: [...scopes],
    signedInWith,
  }
}
