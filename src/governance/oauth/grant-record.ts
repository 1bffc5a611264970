import type { DeploymentEvent, DeploymentEventType } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { OAuthGrant } from '#contracts/oauth.ts'
import type { Client } from '#contracts/operations.ts'

/** What the record has of a sign-in. No token, no code, no key. */
export function eventOf(
  type: Extract<DeploymentEventType, `oauth_${string}`>,
  at: { readonly principal?: string; readonly nowMs: number; readonly client?: Client },
  data: JsonObject,
): DeploymentEvent {
  const { principal = '', nowMs, client } = at
  return {
    type,
    principal,
    trace: '',
    atMs: nowMs,
    data: { ...data, ...(client?.requestId !== undefined && { request: client.requestId }) },
  }
}

/** A client says what it likes about itself: the record keeps the beginning. */
export const short = (text: string): string => text.slice(0, 200)

/** A grant as the record has it: names are shortened, tokens are not in it. */
export function grantData(grant: OAuthGrant): JsonObject {
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
