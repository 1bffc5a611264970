import { errorCode } from '#contracts/errors.ts'
import { mayNameModel, type Rights, type Scope } from '#contracts/keys.ts'
import { stateOf, type KeyStore, type KeyView } from './types/keys.ts'
import { type GrantStore, type OAuthGrant, isHeld } from './types/oauth.ts'
import type { SessionRuntime } from '#runtime/session/types/runtime.ts'
import { scopesOfRole } from './types/scopes.ts'
import type { Sources, Clock } from '#contracts/sources.ts'
import type { Person } from './oauth/oidc/people.ts'
import { defined } from '#contracts/defined.ts'
import type { CredentialState } from '#runtime/session/types/principal.ts'

/** A key or sign-in that may have a successor. */
interface Followed {
  readonly followedBy?: string
}

/** How many successors are followed. Bounded, since rows that follow one another in a ring would never end. */
const maxSteps = 32

/**
 * The key or sign-in in force for an id: itself while it holds, else its nearest successor that holds. `undefined` if
 * there is no such row; the last one of the chain if none holds.
 */
async function inForce<One extends Followed>(
  id: string,
  find: (id: string) => Promise<One | undefined>,
  holds: (one: One) => boolean,
): Promise<One | undefined> {
  let one = await find(id)
  for (let step = 0; one && !holds(one) && one.followedBy && step < maxSteps; step += 1)
    one = await find(one.followedBy)
  return one
}

/** The tables that hold the state of keys and sign-ins. */
interface CredentialStateOptions {
  readonly keys: Pick<KeyStore, 'find'>
  readonly grants: Pick<GrantStore, 'find'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/**
 * Looks up whether work that began with a key or a sign-in may go on. An expired sign-in ends no work: its principal
 * did not revoke it. May throw `request_unavailable`.
 */
export function createCredentialState({ keys, grants, clock }: CredentialStateOptions) {
  return async (id: string): Promise<CredentialState> => {
    if (id.startsWith('grant_')) {
      const grant = await inForce(id, grants.find, ({ revokedAtMs }) => revokedAtMs === undefined)
      const holds = grant && grant.revokedAtMs === undefined
      return holds ? { state: 'active' } : { state: 'ended', reason: 'revoked' }
    }
    const nowMs = clock.nowMs()
    const key = await inForce(id, keys.find, (one) => stateOf(one, nowMs) === 'active')
    const state = key ? stateOf(key, nowMs) : 'revoked'
    if (state !== 'active') return { state: 'ended', reason: state }
    const endsAtMs = key?.expiresAtMs
    return { state: 'active', ...defined({ endsAtMs }) }
  }
}

/** The tables that say whether a principal may still do what it asked for earlier. */
export interface MayBeginOptions {
  readonly keys: Pick<KeyStore, 'find' | 'rightsOf'>
  readonly grants: Pick<GrantStore, 'find'>
  /** People whom the upstream provider may sign in. */
  readonly people: readonly Pick<Person, 'principal' | 'role'>[]
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  /** `<provider>/<model>` of a model as a request names it; `undefined` for an unknown model. */
  readonly fullNameOf: (model: string) => string | undefined
}

/**
 * Checks again, for work that begins without a request: the key or sign-in it was asked with (or its successor), the
 * principal's role, and the agent and model it names. A credential that is not found is refused: no client is there
 * to show another.
 */
export function createMayBegin(options: MayBeginOptions): SessionRuntime['mayBegin'] {
  const { keys, grants, people, clock, fullNameOf } = options
  const rightsOf = async (
    principal: string,
    id: string | undefined,
    grant: OAuthGrant | undefined,
  ): Promise<Rights | undefined> => {
    if (id !== undefined) {
      const isActive = (key: KeyView) => stateOf(key, clock.nowMs()) === 'active'
      const key = await inForce(id, keys.find, isActive)
      return key && isActive(key) ? key : undefined
    }
    // For an operator's sign-in only the token itself can tell whether the operator key is still the same.
    const isPerson = grant?.signedInWith.startsWith('oidc:')
    const person = isPerson ? people.find((one) => one.principal === principal) : undefined
    return person && ((await keys.rightsOf(principal)) ?? person)
  }
  return async ({ principal, key, grant: grantId, agent, model, seesEverybody }) => {
    if (principal === 'operator' && key === undefined && grantId === undefined) return true
    const holds = (one: OAuthGrant) => isHeld(one, clock.nowMs()) && one.principal === principal
    const grant = grantId === undefined ? undefined : await inForce(grantId, grants.find, holds)
    if (grantId !== undefined && !(grant && holds(grant))) return false
    const rights = await rightsOf(principal, key, grant)
    if (!rights || !mayTalk(rights, grant)) return false
    if (seesEverybody && !has(rights, grant, 'operator')) return false
    return whyNot(rights, { agent, model }, fullNameOf) === undefined
  }
}

/**
 * Why an existing run may not go on, by its principal's present rights; `undefined` if it may. `credential-state.ts`
 * checks its key or sign-in. If the table cannot be read, the run goes on.
 */
export function createMayGoOn({
  keys,
  fullNameOf,
}: Pick<MayBeginOptions, 'keys' | 'fullNameOf'>): NonNullable<SessionRuntime['whyNotOn']> {
  return async ({ principal, agent, model }) => {
    if (principal === 'operator') return undefined
    const rights = await keys.rightsOf(principal).catch((error: unknown) => {
      if (errorCode(error) === 'request_unavailable') return undefined
      throw error
    })
    return rights && whyNot(rights, { agent, model }, fullNameOf)
  }
}

type Lost = NonNullable<Awaited<ReturnType<NonNullable<SessionRuntime['whyNotOn']>>>>

/** Why the principal may no longer use this agent or model. */
function whyNot(
  { role, agents, models }: Rights,
  { agent, model }: { readonly agent: string; readonly model?: string | undefined },
  fullNameOf: MayBeginOptions['fullNameOf'],
): Lost | undefined {
  if (!talking.some((scope) => scopesOfRole(role).includes(scope)))
    return { code: 'request_forbidden', message: `role: ${role} talks to no agent.` }
  const code = 'request_model_not_found'
  if (agents?.includes(agent) === false)
    return { code, message: `There is no agent "${agent}" here for you any more.` }
  if (model === undefined || mayNameModel(models, model, fullNameOf)) return undefined
  return { code, message: `There is no model "${model}" here for you any more.` }
}

const talking: readonly Scope[] = ['agents', 'operator']

/** A token allows no more than its principal's role. */
const has = ({ role }: Rights, grant: OAuthGrant | undefined, scope: Scope): boolean =>
  scopesOfRole(role).includes(scope) && grant?.scopes.includes(scope) !== false
const mayTalk = (rights: Rights, grant: OAuthGrant | undefined): boolean =>
  talking.some((scope) => has(rights, grant, scope))
