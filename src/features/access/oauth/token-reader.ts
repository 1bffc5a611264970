import type { OAuthService } from '../types/oauth.ts'
import { isScope, roleWithin, scopesOfRole } from '../types/scopes.ts'
import type { Identity } from './identity.ts'
import { metadataPath, type Library } from './library.ts'
import { resourceOf, type OriginOf } from './origins.ts'
import { parseProof } from './proof.ts'

/** Finds the principal of a token: KV has its content, the database says whether it still holds. */
export function createTokenReader({
  originOf,
  library,
  identity,
}: {
  readonly originOf: OriginOf
  readonly library: Library
  readonly identity: Identity
}): Pick<OAuthService, 'principalOf' | 'challenge'> {
  return {
    async principalOf(token, url) {
      const resource = resourceOf(originOf, url)
      if (resource === undefined) return undefined
      const valid = await library(new URL(resource).origin).validateToken(resource, token)
      const proof = valid && parseProof(valid.props)
      const holder = proof && (await identity.holderOfGrant(proof))
      if (!valid || !holder) return undefined
      const couldHave = scopesOfRole(holder.role)
      const given = valid.scope.filter(isScope).filter((scope) => couldHave.includes(scope))
      const role = roleWithin(holder.role, given)
      return { ...holder, role, grant: proof.grant, token: { scopes: given, couldHave } }
    },
    challenge(url, { error, scopes }) {
      const resource = resourceOf(originOf, url)
      if (resource === undefined) return undefined
      const { origin, pathname } = new URL(resource)
      const parts = [
        ...(error === undefined ? [] : [`error="${error}"`]),
        `resource_metadata="${origin}${metadataPath}${pathname}"`,
        `scope="${scopes.join(' ')}"`,
      ]
      return `Bearer ${parts.join(', ')}`
    },
  }
}
