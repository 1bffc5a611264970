import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import { stateOf, type IssuedKey, type KeyView, type Rights } from '#contracts/keys.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { warningsOf } from '#platform/routes/small-limits.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administrator } from '#platform/routes/administrator.ts'
import {
  parseAddRequest,
  parseChangeRequest,
  parseListQuery,
  parseRotateRequest,
} from './key-requests.ts'

const keyId = /^key_[0-9A-Za-z]{22}$/

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/keys`: all of them, those that have ended too; never a key itself. */
export const listKeys: Handle = (deps) => async (context) => {
  const keys = await deps.keys.list(parseListQuery(context.req.query()))
  return jsonResponse({ keys: keys.map((key) => shown(deps, key)) })
}

/** `POST /api/operator/keys`: makes a key, and its principal if there is none. The key is in this answer only. */
export const addKey: Handle = (deps) => async (context) => {
  const request = await parseAddRequest(deps, await readJsonObject(context.req.raw))
  return issued(deps, await deps.keys.add(request, administrator(deps, context)))
}

/** What a principal may, for each of its keys. What is not named stays as it is. */
export const changePrincipal: Handle = (deps) => async (context) => {
  const change = parseChangeRequest(deps, await readJsonObject(context.req.raw))
  const principal = context.req.param('principal') ?? ''
  const rights = await deps.keys.change(principal, change, administrator(deps, context))
  const answer = { principal, ...shownRights(rights) }
  return jsonResponse({ ...answer, ...warned(deps, answer) })
}

/** Ends a key with the next request. Repeated, it is answered alike. */
export const revokeKey: Handle = (deps) => async (context) => {
  const id = readKeyId(context)
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  return jsonResponse(shown(deps, await deps.keys.revoke(id, administrator(deps, context))))
}

/** A new key for the same principal. The old one ends at once, or after `graceMs`. */
export const rotateKey: Handle = (deps) => async (context) => {
  const id = readKeyId(context)
  const request = parseRotateRequest(await readJsonObject(context.req.raw, { whenEmpty: {} }))
  return issued(deps, await deps.keys.rotate(id, request, administrator(deps, context)))
}

/** The one answer that has a key in it: nothing on its way may keep it. */
function issued(deps: HttpDeps, { key, secret }: IssuedKey): Response {
  const headers = { 'cache-control': 'no-store' }
  const view = shown(deps, key)
  return jsonResponse({ key: secret, ...view, ...warned(deps, view) }, { status: 201, headers })
}

/** Of a day that cannot pay for a model call. */
const warned = (deps: HttpDeps, { limits }: Pick<ReturnType<typeof shownRights>, 'limits'>) =>
  warningsOf(deps, {
    tokens: { field: 'limits.dailyTokens', limit: limits.dailyTokens },
    costUsd: { field: 'limits.dailyCostUsd', limit: limits.dailyCostUsd },
  })

/** `null` for no limit of its own, for everything, and for never. Dollars as everywhere on this surface. */
function shown(deps: HttpDeps, view: KeyView) {
  const { id, principal, hint, createdAtMs } = view
  return {
    id,
    principal,
    state: stateOf(view, deps.sources.clock.nowMs()),
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

/** A malformed id looks like one that is absent. */
function readKeyId(context: HttpContext): string {
  const id = context.req.param('key') ?? ''
  if (keyId.test(id)) return id
  throw new IsolaError('request_not_found', 'There is no such key.')
}
