import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig, McpCameBack } from '#runtime/catalog/types/mcp.ts'
import { openClient } from '../connection.ts'
import { within } from '../until-aborted.ts'
import type { BegunLogin, createOAuthProvider, PendingLogin } from './provider.ts'
import { timeoutMs, type SignInDeps } from './sign-in-deps.ts'

const maxLoginMs = 15 * 60_000

/** The provider of one sign-in, by its state. */
export type ProviderOf = (
  config: McpServerConfig,
  origin: string,
  login?: BegunLogin,
) => ReturnType<typeof createOAuthProvider>

/** How a sign-in that was begun is made out, and whether one came of it. */
export interface FinishDeps extends SignInDeps {
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
export function createFinishLogin(deps: FinishDeps) {
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
