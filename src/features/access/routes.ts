import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { roles, type Rights } from '#contracts/keys.ts'
import { stateOf, type IssuedKey, type KeyView } from './types/keys.ts'
import { jsonResponse, noBody } from '#platform/routes/answer.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { operators } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, text, usd, warnings, reply } from '#platform/routes/shapes.ts'
import { warningsOf } from '#platform/routes/limits.ts'
import { toNewKey, toRightsChange, toRotation, type KeyDeps } from './routes/read-request.ts'
import {
  addKeyRequest,
  changePrincipalRequest,
  keysQuery,
  rotateKeyRequest,
} from './routes/requests.ts'

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

/** `/api/operator/keys…` and `/api/operator/principals…`: keys, ended ones too, and the rights of their principals. */
export default [
  route('GET /api/operator/keys', {
    roles: operators,
    summary: 'Lists keys, newest first, ended ones too; never a key itself.',
    query: keysQuery,
    replies: reply(200, 'The keys.', z.object({ keys: z.array(keyView) })),
    needsAgents: true,
    async handle({ keys, sources }: KeyDeps, { query: { principal, limit = defaultListLimit } }) {
      const all = await keys.list({ limit, ...(principal !== undefined && { principal }) })
      return { keys: all.map((key) => shownKey(key, sources.clock.nowMs())) }
    },
  }),
  route('POST /api/operator/keys', {
    roles: operators,
    summary: 'Makes a key, and its principal if there is none.',
    body: addKeyRequest,
    replies: reply(201, 'The key.', issuedKey),
    errors: [404, 409],
    needsAgents: true,
    async handle(deps: KeyDeps, { body, by }) {
      return issued(deps, await deps.keys.add(await toNewKey(deps, body), by()))
    },
  }),
  route('POST /api/operator/keys/:key/revoke', {
    roles: operators,
    summary: 'Ends a key with the next request.',
    params: { key: keyId },
    body: noBody,
    replies: reply(200, 'The key as it then is.', keyView),
    check: refuseMalformed,
    async handle({ keys, sources }: KeyDeps, { params, by }) {
      return shownKey(await keys.revoke(params.key, by()), sources.clock.nowMs())
    },
  }),
  route('POST /api/operator/keys/:key/rotate', {
    roles: operators,
    summary:
      'Makes a new key for the same principal; the old one ends at once, or after `graceMs`.',
    params: { key: keyId },
    body: rotateKeyRequest.optional(),
    replies: reply(201, 'The new key.', issuedKey),
    errors: [409],
    check: refuseMalformed,
    async handle(deps: KeyDeps, { params, body, by }) {
      return issued(deps, await deps.keys.rotate(params.key, toRotation(body), by()))
    },
  }),
  route('POST /api/operator/principals/:principal', {
    roles: operators,
    summary: 'Changes what a principal may, for each of its keys.',
    params: { principal: 'Its name.' },
    body: changePrincipalRequest,
    replies: reply(200, 'What it then may.', z.object({ principal: text, ...rights, warnings })),
    errors: [409],
    needsAgents: true,
    async handle(deps: KeyDeps, { params: { principal }, body, by }) {
      const rights = await deps.keys.change(principal, toRightsChange(deps, body), by())
      const answer = { principal, ...shownRights(rights) }
      return { ...answer, ...warned(deps, answer) }
    },
  }),
] as const

/** The only answer that contains a key: no cache on its way may store it. */
function issued(deps: KeyDeps, { key, secret }: IssuedKey): Response {
  const headers = { 'cache-control': 'no-store' }
  const view = shownKey(key, deps.sources.clock.nowMs())
  return jsonResponse({ key: secret, ...view, ...warned(deps, view) }, { status: 201, headers })
}

/** Warns of a daily limit too small for a single model call. */
const warned = (deps: KeyDeps, { limits }: Pick<ReturnType<typeof shownRights>, 'limits'>) =>
  warningsOf(deps, {
    tokens: { field: 'limits.dailyTokens', limit: limits.dailyTokens },
    costUsd: { field: 'limits.dailyCostUsd', limit: limits.dailyCostUsd },
  })

/** `null` means: no limit of its own, all agents or models, no end. Costs are in dollars, as everywhere in this API. */
function shownKey(view: KeyView, nowMs: number) {
  const { id, principal, hint, createdAtMs } = view
  return {
    id,
    principal,
    state: stateOf(view, nowMs),
    hint,
    ...shownRights(view),
    persona: view.persona ?? null,
    createdAtMs,
    expiresAtMs: view.expiresAtMs ?? null,
    revokedAtMs: view.revokedAtMs ?? null,
  }
}

function shownRights({ role, agents, models, limits }: Rights) {
  return {
    role,
    agents: agents ?? null,
    models: models ?? null,
    limits: {
      dailyTokens: limits?.tokens ?? null,
      dailyCostUsd: limits?.costNanoUsd === undefined ? null : limits.costNanoUsd / 1e9,
    },
  }
}

/** A malformed id gets the same answer as an absent one. */
function refuseMalformed({ params }: RequestContext): void {
  if (/^key_[0-9A-Za-z]{22}$/.test(params['key'] ?? '')) return
  throw new IsolaError('request_not_found', 'There is no such key.')
}
