import { auth, type OAuthDiscoveryState, UnauthorizedError } from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig, McpLogin, McpSigner } from '#runtime/catalog/types/mcp.ts'
import { within } from '../until-aborted.ts'
import { createOAuthProvider, plainIssuer, type PendingLogin } from './provider.ts'
import { timeoutMs, type SignInDeps } from './sign-in-deps.ts'
import { defined } from '#contracts/defined.ts'
import { connect } from '../connection.ts'
import { createFinishLogin, type ProviderOf } from './finish-login.ts'

/** So often a server may want more rights within an hour. */
const maxSteps = 3
const stepsMs = 3_600_000

interface Steps {
  readonly count: number
  readonly sinceMs: number
}

interface StepUp {
  readonly provider: ReturnType<typeof createOAuthProvider>
  readonly scope: string
}

/**
 * Asks for the scopes that the server wanted beyond what the token has. A server that never has enough is not followed
 * for ever. Afterwards the provider has kept the page to sign in at. Throws `tool_failed`.
 */
async function stepUp(
  deps: Pick<SignInDeps, 'storeOf' | 'connectDeps' | 'nowMs'>,
  config: McpServerConfig,
  { provider, scope }: StepUp,
): Promise<void> {
  const store = deps.storeOf(config)
  const steps = await store.get<Steps>('steps')
  const nowMs = deps.nowMs()
  const recent = steps && nowMs - steps.sinceMs < stepsMs ? steps : { count: 0, sinceMs: nowMs }
  if (recent.count >= maxSteps)
    throw new IsolaError(
      'tool_failed',
      `The server asked for more rights ${maxSteps} times; try again in an hour.`,
    )
  await store.put('steps', { ...recent, count: recent.count + 1 })
  store.delete('wanted')
  const { guardedFetch: fetchFn } = deps.connectDeps(config)
  // The authorization server may have changed; the address of the metadata stays.
  const { resourceMetadataUrl } = (await store.get<OAuthDiscoveryState>('discovery')) ?? {}
  store.delete('discovery')
  const asked = {
    serverUrl: config.url,
    scope,
    forceReauthorization: true,
    fetchFn,
    ...(resourceMetadataUrl !== undefined && {
      resourceMetadataUrl: new URL(resourceMetadataUrl),
    }),
  }
  await within(timeoutMs, () => auth(provider, asked))
}

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
