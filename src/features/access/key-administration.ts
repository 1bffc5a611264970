import { invalidField } from '#platform/routes/json-shape.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import {
  deploymentEvent,
  type DeploymentEvent,
  type DeploymentEventData,
  type DeploymentEventType,
} from '#contracts/event.ts'
import {
  stateOf,
  type KeyAdministration,
  type KeyEnd,
  type KeyStore,
  type KeyView,
  type NewKey,
  type RightsChange,
} from './types/keys.ts'
import { type Administrator, type Rights } from '#contracts/keys.ts'
import type { Sources } from '#contracts/sources.ts'

const hintChars = 8

/** The operator key's own principal: another principal of this name would share its sessions and its day. */
const reserved = 'operator'

/** Adds, changes, rotates and revokes keys. A key is shown once, when it is made; the table keeps its hash. */
export function createKeyAdministration({
  keys,
  clock,
  ids,
  sha256,
}: Sources & { readonly keys: KeyStore }): KeyAdministration {
  /** A new key, and the row for the table. */
  const make = (
    { principal, persona }: Pick<NewKey, 'principal' | 'persona'>,
    nowMs: number,
    expiresAtMs: number | undefined,
  ) => {
    const secret = ids.next('isk')
    const key: NewKey = {
      id: ids.next('key'),
      principal,
      ...defined({ persona }),
      hash: sha256(secret),
      hint: secret.slice(0, hintChars),
      createdAtMs: nowMs,
      ...defined({ expiresAtMs }),
    }
    return { secret, key }
  }
  const find = async (id: string): Promise<KeyView> => {
    const key = await keys.find(id)
    if (!key) throw new IsolaError('request_not_found', 'There is no such key.')
    return key
  }

  return {
    list: keys.list,
    async add({ rights, end = {}, ...whose }, by) {
      const { principal, persona } = whose
      if (principal === reserved) throw isReserved()
      const known = rights ?? (await keys.rightsOf(principal))
      if (!known) throw roleMissing(principal)
      const nowMs = clock.nowMs()
      const { secret, key } = make(whose, nowMs, endOf(end, nowMs))
      const about = {
        key: key.id,
        owner: principal,
        expiresAtMs: key.expiresAtMs ?? null,
        ...defined({ persona }),
      }
      const data = rights ? { ...about, ...shown(rights) } : about
      await keys.add(key, eventOf('key_added', by, nowMs, data), rights)
      return { key: await find(key.id), secret }
    },
    async change(principal, change, by) {
      const before = await keys.rightsOf(principal)
      if (!before) throw new IsolaError('request_not_found', 'There is no such principal.')
      const rights = changed(before, change)
      const data = { owner: principal, ...shown(rights) }
      await keys.change(principal, rights, eventOf('principal_changed', by, clock.nowMs(), data))
      return rights
    },
    async revoke(id, by) {
      const { principal } = await find(id)
      const data = { key: id, owner: principal }
      await keys.revoke(id, eventOf('key_revoked', by, clock.nowMs(), data))
      return find(id)
    },
    async rotate(id, { graceMs = 0, end }, by) {
      const old = await find(id)
      const nowMs = clock.nowMs()
      const expiresAtMs = end ? endOf(end, nowMs) : old.expiresAtMs
      const { secret, key } = make(old, nowMs, expiresAtMs)
      const endsAtMs = nowMs + graceMs
      const about = { key: id, owner: old.principal, newKey: key.id }
      const data = { ...about, endsAtMs, expiresAtMs: expiresAtMs ?? null }
      if (stateOf(old, nowMs) === 'active')
        await keys.rotate({ id, endsAtMs }, key, eventOf('key_rotated', by, nowMs, data))
      const made = await keys.find(key.id)
      if (!made) throw hasEnded()
      return { key: made, secret }
    },
  }
}

/** `null` removes a limit, an absent field stays. */
function changed(before: Rights, change: RightsChange): Rights {
  const { role = before.role, agents = before.agents, models = before.models } = change
  const { tokens = before.limits?.tokens, costNanoUsd = before.limits?.costNanoUsd } = change
  return {
    role,
    ...(agents && { agents }),
    ...(models && { models }),
    limits: { ...(tokens != null && { tokens }), ...(costNanoUsd != null && { costNanoUsd }) },
  }
}

function endOf(end: KeyEnd, nowMs: number): number | undefined {
  if ('expiresInMs' in end && end.expiresInMs !== undefined) return nowMs + end.expiresInMs
  const expiresAtMs = 'expiresAtMs' in end ? end.expiresAtMs : undefined
  if (expiresAtMs === undefined || expiresAtMs > nowMs) return expiresAtMs
  throw invalidField('expiresAtMs', 'must be in the future, in milliseconds since 1970.')
}

/** The event of an administrator's change, with its request. */
export function eventOf<Type extends DeploymentEventType>(
  type: Type,
  { principal, trace, requestId: request }: Administrator,
  atMs: number,
  data: DeploymentEventData<Type>,
): DeploymentEvent {
  return deploymentEvent(type, { principal, trace, atMs }, { ...data, request })
}

const shown = ({ role, agents, models, limits }: Rights) => ({
  role,
  agents: agents ? [...agents] : null,
  models: models ? [...models] : null,
  dailyTokens: limits?.tokens ?? null,
  dailyCostNanoUsd: limits?.costNanoUsd ?? null,
})

function isReserved(): IsolaError {
  return invalidField(
    'principal',
    `"${reserved}" is whoever has the operator key of the deployment; choose another name.`,
  )
}

function roleMissing(principal: string): IsolaError {
  return invalidField('role', `is required, since there is no principal "${principal}" yet.`)
}

function hasEnded(): IsolaError {
  return new IsolaError(
    'request_conflict',
    'This key has ended already: add another one for its principal.',
  )
}
