import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig } from '#contracts/mcp.ts'
import { openClient } from '../connection.ts'
import { within } from '../until-aborted.ts'
import type { createOAuthProvider, PendingLogin } from './provider.ts'
import { timeoutMs, type SignInDeps } from './sign-in-deps.ts'

const maxLoginMs = 15 * 60_000

/** The provider of one sign-in, by its state. */
export type ProviderOf = (
  config: McpServerConfig,
  origin: string,
  login?: { readonly state: string },
) => ReturnType<typeof createOAuthProvider>

/** Ends a sign-in with what the browser brought back. A state counts once, and for a quarter of an hour. */
export function createFinishLogin(deps: SignInDeps, providerOf: ProviderOf) {
  /** States that are being finished just now. */
  const finishing = new Set<string>()
  return async (config: McpServerConfig, query: string): Promise<void> => {
    const params = new URLSearchParams(query)
    const state = params.get('state') ?? ''
    // Sealing and opening wait, and another request comes in meanwhile.
    if (finishing.has(state)) throw notBegun()
    finishing.add(state)
    try {
      await finishOnce(config, params, state)
    } finally {
      finishing.delete(state)
    }
  }

  async function finishOnce(
    config: McpServerConfig,
    params: URLSearchParams,
    state: string,
  ): Promise<void> {
    const store = deps.storeOf(config)
    const login = await store.get<PendingLogin>('login')
    const isRight =
      login !== undefined &&
      login.state !== '' &&
      login.state === state &&
      deps.nowMs() - login.startedAtMs < maxLoginMs
    if (!isRight) throw notBegun()
    const provider = providerOf(config, login.origin, { state })
    const { transport } = openClient(config, { ...deps.connectDeps(config), provider })
    // Whatever comes of it: this state is used up before the code is.
    await store.put('login', { ...login, state: '' })
    try {
      await within(timeoutMs, () => transport.finishAuth(params))
    } catch (error) {
      deps.onSignedIn({ server: config.id, refused: errorCode(error) ?? 'tool_failed' })
      throw error
    } finally {
      store.delete('login')
    }
    deps.onSignedIn({ server: config.id })
  }
}

const notBegun = () =>
  new IsolaError('request_invalid', 'This sign-in is not one that was begun here, or it is over.')
