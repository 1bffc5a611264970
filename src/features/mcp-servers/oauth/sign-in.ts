import type { DeploymentEventData } from '#contracts/event.ts'
import type {
  McpServerConfig,
  McpLogin,
  McpSigner,
  McpCameBack,
} from '#runtime/catalog/types/mcp.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import { type ConnectDeps, connect, openClient } from '../connection.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { SealedStore } from './sealed-store.ts'
import { auth, type OAuthDiscoveryState, UnauthorizedError } from '@modelcontextprotocol/client'
import { IsolaError, errorCode } from '#contracts/errors.ts'
import { within } from '../until-aborted.ts'
import { createOAuthProvider, plainIssuer, type PendingLogin, type BegunLogin } from './provider.ts'
import { defined } from '#contracts/defined.ts'

/** So long may an authorization server take for one answer. */
export const timeoutMs = 30_000

/** The dependencies of a sign-in. */
export interface SignInDeps {
  readonly storeOf: (config: McpServerConfig) => SealedStore
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  readonly nowMs: () => number
  /** Receives each secret value before its first use, so that replies can be redacted. */
  readonly learn: (value: string) => void
  /**
   * Called when a sign-in succeeded, or when the browser's parameters were refused. Never throws.
   * @param principal The principal that signed in for itself; absent for the deployment's sign-in.
   */
  readonly onSignedIn: (
    what: DeploymentEventData<'mcp_signed_in'> | DeploymentEventData<'mcp_sign_in_refused'>,
    principal?: string,
  ) => void
  /** A text that cannot be guessed. */
  readonly secret: () => string
  readonly clientMetadataUrl?: string
}

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

const maxLoginMs = 15 * 60_000

/** The provider of one sign-in, by its state. */
type ProviderOf = (
  config: McpServerConfig,
  origin: string,
  login?: BegunLogin,
) => ReturnType<typeof createOAuthProvider>

/** How a sign-in that was begun is made out, and whether one came of it. */
interface FinishDeps extends SignInDeps {
  readonly providerOf: ProviderOf
  readonly isSignedIn: (config: McpServerConfig) => Promise<boolean>
}

/**
 * Ends a sign-in with the parameters that the browser brought back. A state counts once, and for a quarter of an
 * hour.
 * The deployment's sign-in ends there and then: only an operator begins it. Any user may begin a principal's sign-in
 * and could trick another person into opening its page, whose account it would then be; so such a sign-in ends where
 * it was begun, with the code that the browser showed (docs/security.md T28).
 */
function createFinishLogin(deps: FinishDeps) {
  const once = createOnce()
  return {
    finish: (config: McpServerConfig, query: string): Promise<void> =>
      once(stateIn(query), async () => {
        const login = await pendingOf(deps, config, isAt(stateIn(query)))
        if (login.principal !== undefined) throw notBegun()
        await redeem(deps, config, { login, query })
      }),
    /**
     * For a principal's sign-in: stores the parameters that the browser brought back, until the principal gives the
     * code.
     */
    cameBack: (config: McpServerConfig, query: string): Promise<McpCameBack> =>
      once(stateIn(query), async () => {
        const login = await pendingOf(deps, config, isAt(stateIn(query)))
        if (login.principal === undefined) throw notBegun()
        return keepFor(deps, config, { login, query })
      }),
    confirm: (config: McpServerConfig, code: string): Promise<void> =>
      once(code, async () => {
        const { came, ...login } = await pendingOf(
          deps,
          config,
          ({ came: kept }) => kept?.code === code,
        )
        await redeem(deps, config, { login, query: came?.query ?? '' })
      }),
  }
}

interface Back {
  readonly login: PendingLogin
  readonly query: string
}

async function keepFor(
  deps: FinishDeps,
  config: McpServerConfig,
  { login, query }: Back,
): Promise<McpCameBack> {
  const params = new URLSearchParams(query)
  const store = deps.storeOf(config)
  const used = { ...login, state: '' }
  if (params.has('code')) {
    const code = deps.secret()
    await store.put('login', { ...used, came: { query, code } })
    return { state: 'code', code }
  }
  const isDenied = params.get('error') === 'access_denied'
  await store.put('login', { ...used, ...(isDenied && { isDenied: true }) })
  const refused = isDenied ? 'access_denied' : 'tool_failed'
  deps.onSignedIn({ server: config.id, refused }, login.principal)
  return { state: isDenied ? 'denied' : 'failed' }
}

/** Exchanges what came back for tokens. */
async function redeem(
  deps: FinishDeps,
  config: McpServerConfig,
  { login, query }: Back,
): Promise<void> {
  const store = deps.storeOf(config)
  const { principal, origin } = login
  const provider = deps.providerOf(config, origin, { state: stateIn(query) })
  const { transport } = openClient(config, { ...deps.connectDeps(config), provider })
  // Whatever comes of it: this state is used up before the code is.
  await store.put('login', { ...login, state: '' })
  try {
    await within(timeoutMs, () => transport.finishAuth(new URLSearchParams(query)))
    // Meanwhile the server may have been removed, or its principal have gone: nothing was kept then.
    if (!(await deps.isSignedIn(config))) throw notBegun()
  } catch (error) {
    const refused = errorCode(error) ?? 'tool_failed'
    deps.onSignedIn({ server: config.id, refused }, principal)
    throw error
  } finally {
    store.delete('login')
  }
  deps.onSignedIn({ server: config.id }, principal)
}

async function pendingOf(
  deps: FinishDeps,
  config: McpServerConfig,
  isIt: (login: PendingLogin) => boolean,
): Promise<PendingLogin> {
  const login = await deps.storeOf(config).get<PendingLogin>('login')
  if (login && isIt(login) && deps.nowMs() - login.startedAtMs < maxLoginMs) return login
  throw notBegun()
}

/** Nothing twice at a time: sealing and opening wait, and another request comes in meanwhile. */
function createOnce() {
  const under = new Set<string>()
  return async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    if (under.has(what)) throw notBegun()
    under.add(what)
    try {
      return await work()
    } finally {
      under.delete(what)
    }
  }
}

const stateIn = (query: string): string => new URLSearchParams(query).get('state') ?? ''

const isAt =
  (state: string) =>
  (login: PendingLogin): boolean =>
    state !== '' && login.state === state

const notBegun = () =>
  new IsolaError('request_invalid', 'This sign-in is not one that was begun here, or it is over.')
