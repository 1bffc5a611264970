import type * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { KeyAdministration, KeyEnd, RightsChange } from '../types/keys.ts'
import type { Rights } from '#contracts/keys.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SkillLibrary } from '#runtime/catalog/types/skill.ts'
import type { Sources } from '#contracts/sources.ts'
import { presenceIn } from '#runtime/session/requests/asker.ts'
import { hasAgent, isServed, type Targets } from '#platform/routes/targets.ts'
import type { addKeyRequest, changePrincipalRequest, rotateKeyRequest } from './requests.ts'
import { invalidField } from '#platform/routes/json-shape.ts'

/** The dependencies of the key routes; agents, models and personas, since a key may name them. */
export interface KeyDeps extends Targets {
  readonly keys: KeyAdministration
  readonly sources: Sources
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'toolNames'>
  readonly skills: Pick<SkillLibrary, 'persona'>
}

const nanoPerUsd = 1e9

type AddFields = z.infer<typeof addKeyRequest>

/** Agents and models must exist: a misspelt name would silently allow nothing. */
export async function toNewKey(
  deps: KeyDeps,
  request: AddFields,
): Promise<Parameters<KeyAdministration['add']>[0]> {
  const { principal, role, agents, models, persona } = request
  checkReach(deps, request)
  if (role === undefined) refuseRightsAlone(request)
  if (persona !== undefined) await checkPersona(deps, persona)
  const limits = toLimits(request.limits)
  const rights = role && {
    role,
    ...defined({ agents, models, limits }),
  }
  return {
    principal,
    ...defined({ rights, persona }),
    end: toEnd(request) ?? {},
  }
}

/** A change of a principal's rights: an omitted field stays, `null` lifts its limit. Throws `request_invalid`. */
export function toRightsChange(
  deps: KeyDeps,
  { role, agents, models, limits }: z.infer<typeof changePrincipalRequest>,
): RightsChange {
  checkReach(deps, { agents, models })
  const { dailyTokens: tokens, dailyCostUsd: costUsd } = limits ?? {}
  return {
    ...defined({ role, agents, models, tokens }),
    ...(costUsd !== undefined && { costNanoUsd: costUsd === null ? null : toNanoUsd(costUsd) }),
  }
}

/** The old key's grace period, and the end of the new key. Throws `request_invalid`. */
export function toRotation({ graceMs, ...rest }: z.infer<typeof rotateKeyRequest>) {
  const ends = toEnd(rest)
  return defined({ graceMs, end: ends })
}

function checkReach(
  deps: KeyDeps,
  { agents, models }: Pick<z.infer<typeof changePrincipalRequest>, 'agents' | 'models'>,
): void {
  checkNames('agents', agents, (agent) => hasAgent(deps, {}, agent))
  checkNames('models', models, (model) => isServed(deps.models, model))
}

const toNanoUsd = (usd: number) => Math.round(usd * nanoPerUsd)

function checkNames(
  field: string,
  given: readonly string[] | null | undefined,
  isThere: (name: string) => boolean,
): void {
  const index = given?.findIndex((name) => !isThere(name)) ?? -1
  if (index < 0) return
  const param = `${field}[${index}]`
  throw invalidField(param, 'is not there; GET /v1/models lists what is.')
}

async function checkPersona(deps: KeyDeps, name: string): Promise<void> {
  const { persona, missing, names } = await deps.skills.persona(name, presenceIn(deps))
  if (persona) return
  const message = missing
    ? `persona: ${name} needs what is not here: ${missing.join(', ')}.`
    : `persona: there is no persona "${name}" here; there are: ${names.join(', ')}.`
  throw new IsolaError('request_invalid', message, { param: 'persona' })
}

/** Without a role the request adds a key to an existing principal, whose rights are set already. */
function refuseRightsAlone(request: AddFields): void {
  const param = (['agents', 'models', 'limits'] as const).find((field) => request[field])
  if (param === undefined) return
  throw invalidField(
    param,
    'is for a new principal, together with its role. Another key of one that is there has the same rights.',
  )
}

function toLimits(limits: AddFields['limits']): Rights['limits'] | undefined {
  const { dailyTokens, dailyCostUsd } = limits ?? {}
  if (dailyTokens === undefined && dailyCostUsd === undefined) return undefined
  return {
    ...defined({ tokens: dailyTokens }),
    ...(dailyCostUsd !== undefined && { costNanoUsd: toNanoUsd(dailyCostUsd) }),
  }
}

function toEnd({
  expiresInMs,
  expiresAtMs,
}: Pick<AddFields, 'expiresInMs' | 'expiresAtMs'>): KeyEnd | undefined {
  if (expiresInMs !== undefined && expiresAtMs !== undefined) {
    throw invalidField('expiresInMs', 'cannot be sent together with expiresAtMs; send one of them.')
  }
  if (expiresInMs !== undefined) return { expiresInMs }
  return expiresAtMs === undefined ? undefined : { expiresAtMs }
}
