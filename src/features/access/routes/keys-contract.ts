import * as z from 'zod'
import { roles } from '#contracts/keys.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  addKeyRequest,
  changePrincipalRequest,
  grantsQuery,
  keysQuery,
  rotateKeyRequest,
} from './keys-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { addTrustRequest, setSecretRequest } from '#features/policy/types/settings-requests.ts'
import { atMs, count, text, usd, warnings } from '#contracts/routes/shapes.ts'

const rights = {
  role: z.enum(roles),
  agents: z.array(text).nullable().describe('`null`: all there are.'),
  models: z.array(text).nullable().describe('`null`: all there are.'),
  limits: z.object({
    dailyTokens: count.nullable().describe('`null`: what the deployment sets.'),
    dailyCostUsd: usd.nullable().describe('US dollars; `null`: what the deployment sets.'),
  }),
}
const key = {
  id: text,
  principal: text,
  state: z.enum(['active', 'expired', 'revoked']),
  hint: text.describe('The first characters of the key.'),
  ...rights,
  persona: text
    .nullable()
    .describe('What the orchestrator speaks as to whoever shows it; `null`: as itself.'),
  createdAtMs: atMs,
  expiresAtMs: atMs.nullable(),
  revokedAtMs: atMs.nullable(),
}
const keyView = z.object(key).meta({ id: 'Key' })
const issuedKey = z
  .object({ key: text.describe('The key itself, shown this once.'), ...key, warnings })
  .meta({ id: 'IssuedKey' })
const keyId = 'The key’s id: `key_` and 22 characters.'

const grant = z
  .object({
    id: text,
    principal: text,
    client: text,
    clientName: text,
    redirectUri: text,
    resource: text,
    scopes: z.array(text),
    signedInWith: text,
    createdAtMs: atMs,
    expiresAtMs: atMs,
    state: z.enum(['waiting', 'active', 'expired', 'revoked']),
    redeemedAtMs: atMs.nullable(),
    revokedAtMs: atMs.nullable(),
  })
  .meta({ id: 'SignInGrant' })

const secret = { name: text, keyId: text, setBy: text, setAtMs: atMs }
const askedBy = z.array(text).describe('The plugins that ask for it.')
const trusted = z
  .object({ id: text, name: text, publicKey: text, addedBy: text, addedAtMs: atMs })
  .meta({ id: 'TrustedKey' })

/** Keys, principals, sign-ins, secrets and accepted signatures. */
export const keyContracts = {
  'GET /api/operator/keys': {
    summary: 'Lists keys, newest first, ended ones too; never a key itself.',
    query: keysQuery,
    replies: { 200: { is: 'The keys.', json: z.object({ keys: z.array(keyView) }) } },
  },
  'POST /api/operator/keys': {
    summary: 'Makes a key, and its principal if there is none.',
    body: addKeyRequest,
    replies: { 201: { is: 'The key.', json: issuedKey } },
    errors: [404, 409],
  },
  'POST /api/operator/keys/:key/revoke': {
    summary: 'Ends a key with the next request.',
    params: { key: keyId },
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'The key as it then is.', json: keyView } },
  },
  'POST /api/operator/keys/:key/rotate': {
    summary:
      'Makes a new key for the same principal; the old one ends at once, or after `graceMs`.',
    params: { key: keyId },
    body: rotateKeyRequest,
    isBodyOptional: true,
    replies: { 201: { is: 'The new key.', json: issuedKey } },
    errors: [409],
  },
  'POST /api/operator/principals/:principal': {
    summary: 'Changes what a principal may, for each of its keys.',
    params: { principal: 'Its name.' },
    body: changePrincipalRequest,
    replies: {
      200: { is: 'What it then may.', json: z.object({ principal: text, ...rights, warnings }) },
    },
    errors: [409],
  },
  'GET /api/operator/grants': {
    summary: 'Lists what clients were allowed in OAuth sign-ins, newest first.',
    query: grantsQuery,
    replies: { 200: { is: 'The grants.', json: z.object({ grants: z.array(grant) }) } },
  },
  'POST /api/operator/grants/:grant/revoke': {
    summary: 'Ends what a client was allowed, with the next request.',
    params: { grant: 'Its id: `grant_` and 22 characters.' },
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'The grant as it then is.', json: grant } },
  },
  'GET /api/operator/secrets': {
    summary: 'Lists which secrets are set, and which are asked for and are not.',
    replies: {
      200: {
        is: 'Their names, never a value.',
        json: z.object({
          secrets: z.array(z.object({ ...secret, askedBy })),
          missing: z.array(z.object({ name: text, askedBy })),
        }),
      },
    },
  },
  'POST /api/operator/secrets': {
    summary: 'Sets a secret. No answer, event or log ever holds its value again.',
    body: setSecretRequest,
    replies: { 200: { is: 'It is set.', json: z.object(secret) } },
  },
  'POST /api/operator/secrets/rotate': {
    summary: 'Seals every secret under the current key of the deployment.',
    body: noFields,
    isBodyOptional: true,
    replies: {
      200: {
        is: 'What was done.',
        json: z.object({
          rotated: count,
          current: count.describe('Under the new key before.'),
          failed: z.array(z.object({ name: text, message: text })),
        }),
      },
    },
  },
  'DELETE /api/operator/secrets/:name': {
    summary: 'Forgets a secret.',
    params: { name: 'Its name.' },
    replies: {
      200: { is: 'It is gone.', json: z.object({ name: text, removed: z.literal(true) }) },
    },
  },
  'GET /api/operator/trust': {
    summary: 'Lists the keys whose signatures make a plugin trusted.',
    replies: { 200: { is: 'The keys.', json: z.object({ keys: z.array(trusted) }) } },
  },
  'POST /api/operator/trust': {
    summary: 'Accepts a key.',
    body: addTrustRequest,
    replies: { 201: { is: 'The key.', json: trusted } },
    errors: [409],
  },
  'DELETE /api/operator/trust/:key': {
    summary: 'Accepts a key no more.',
    params: { key: 'Its name or id.' },
    replies: { 200: { is: 'The key.', json: trusted } },
  },
} satisfies ApiContracts
