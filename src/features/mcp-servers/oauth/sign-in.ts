import { defined } from '#contracts/defined.ts'
import { auth, UnauthorizedError } from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { McpLogin, McpSigner } from '#runtime/catalog/types/mcp-sign-in.ts'
import { connect } from '../connection.ts'
import { within } from '../until-aborted.ts'
import { createFinishLogin, type ProviderOf } from './finish-login.ts'
import { createOAuthProvider, plainIssuer, type PendingLogin } from './provider.ts'
import { timeoutMs, type SignInDeps } from './sign-in-deps.ts'
import { stepUp } from './step-up.ts'

/**
 * Signing in at a server's authorization server: the operator or the principal begins it, the browser's return
 * finishes it.
 */
export function createSignIn(deps: SignInDeps) {
  const providerOf: ProviderOf = (config, origin, login) =>
    createOAuthProvider({
      ...deps,
      config,
      origin,
      store: deps.storeOf(config),
      ...defined({ login }),
    })
  const isSignedIn = async (config: McpServerConfig): Promise<boolean> => {
    const store = deps.storeOf(config)
    const issuer = plainIssuer((await store.get<string>('issuer')) ?? '')
    return (await store.get(`tokens ${issuer}`)) !== undefined
  }
  const pageOf = async (config: McpServerConfig, state: string): Promise<string> => {
    const login = await deps.storeOf(config).get<PendingLogin>('login')
    if (login?.url !== undefined && login.state === state) return login.url
    throw new IsolaError('tool_failed', 'The authorization server names no page to sign in at.')
  }
  return {
    /** For calls: uses and renews tokens, and begins no sign-in. `undefined` if there is no sign-in. */
    async providerOf(config: McpServerConfig) {
      const origin = await deps.storeOf(config).get<string>('origin')
      return origin !== undefined && (await isSignedIn(config))
        ? providerOf(config, origin)
        : undefined
    },
    isSignedIn,
    /** Whether the sign-in that was begun last was denied. */
    isDenied: async (config: McpServerConfig): Promise<boolean> =>
      (await deps.storeOf(config).get<PendingLogin>('login'))?.isDenied === true,
    /** The page to open, or the answer that no page is needed. */
    async begin(config: McpServerConfig, origin: string, signer?: McpSigner): Promise<McpLogin> {
      const store = deps.storeOf(config)
      const whose = signer ? [signer.ref] : []
      const state = [config.id, ...whose, deps.secret()].join('.')
      store.delete('login')
      const provider = providerOf(config, origin, {
        state,
        ...(signer && { principal: signer.principal }),
      })
      const wanted = await store.get<string>('wanted')
      if (wanted !== undefined) {
        await stepUp(deps, config, { provider, scope: wanted })
        return { state: 'open', url: await pageOf(config, state) }
      }
      // The cached facts about the authorization server may be out of date.
      store.delete('discovery')
      try {
        const { client, close } = await connect(
          config,
          { ...deps.connectDeps(config), provider },
          { timeoutMs },
        )
        await client.request({ method: 'tools/list', params: {} }, { timeout: timeoutMs })
        await close()
        if (!signer || (await isSignedIn(config))) return { state: 'signed_in' }
        // The server lists its tools without a sign-in; a principal's calls need one all the same.
        const { guardedFetch: fetchFn } = deps.connectDeps(config)
        await within(timeoutMs, () => auth(provider, { serverUrl: config.url, fetchFn }))
        return { state: 'open', url: await pageOf(config, state) }
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error
        return { state: 'open', url: await pageOf(config, state) }
      }
    },
    ...createFinishLogin({ ...deps, providerOf, isSignedIn }),
  }
}
