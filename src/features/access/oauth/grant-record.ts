import { headOf } from '#contracts/cut.ts'
import {
  deploymentEvent,
  type DeploymentEvent,
  type DeploymentEventData,
  type DeploymentEventType,
} from '#contracts/event.ts'
import type { OAuthGrant } from '../types/oauth.ts'
import type { Client } from '#contracts/operations.ts'

/** An event of a sign-in for the record: without token, code or key. */
export function eventOf<Type extends Extract<DeploymentEventType, `oauth_${string}`>>(
  type: Type,
  at: { readonly principal?: string; readonly nowMs: number; readonly client?: Client },
  data: DeploymentEventData<Type>,
): DeploymentEvent {
  const { principal = '', nowMs: atMs, client } = at
  const request = client?.requestId === undefined ? {} : { request: client.requestId }
  return deploymentEvent(type, { principal, trace: '', atMs }, { ...data, ...request })
}

/** Shortens a text that a client chose about itself, before it goes on the record. */
export const short = (text: string): string => headOf(text, 200)

/** A grant for the record: names are shortened, tokens are left out. */
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
