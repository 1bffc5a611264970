import { auth, UnauthorizedError, type OAuthDiscoveryState } from '@modelcontextprotocol/client'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpLogin, McpServerConfig } from '#contracts/mcp.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import { connect, openClient, type ConnectDeps } from '../connection.ts'
import type { CheckUrl } from '../guarded-fetch.ts'
import { within } from '../until-aborted.ts'
import { createOAuthProvider, plainIssuer, type PendingLogin } from './provider.ts'
import type { SealedStore } from './sealed-store.ts'

const maxLoginMs = 15 * 60_000
const timeoutMs = 30_000

/** So often a server may want more rights within an hour. */
const maxSteps = 3
const stepsMs = 3_600_000

interface Steps {
  readonly count: number
  readonly sinceMs: number
}

interface StepUp {
  readonly provider: ReturnType<typeof createOAuthProvider>
  readonly wanted: string
  readonly state: string
}

export interface SignInDeps {
  readonly storeOf: (config: McpServerConfig) => SealedStore
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  readonly nowMs: () => number
  /** Told each value that nobody may read, before it is used. */
  readonly learn: (value: string) => void
  /** Told that somebody signed in, or that what the browser brought back was refused. Never throws. */
  readonly onSignedIn: (what: JsonObject) => void
  /** A text that nobody can guess. */
  readonly secret: () => string
  readonly clientMetadataUrl?: string
}

/** Signing in at a server's authorization server: begun by an operator, finished by the browser that comes back. */
export function createSignIn(deps: SignInDeps) {
  /** States that are being finished just now. */
  const finishing = new Set<string>()
  const providerOf = (
    config: McpServerConfig,
    origin: string,
    login?: { readonly state: string },
  ) =>
    createOAuthProvider({
      ...deps,
      config,
      origin,
      store: deps.storeOf(config),
      ...(login && { login }),
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
  /** The server wanted more than what the token has. A server that never has enough is not followed for ever. */
  const stepUp = async (
    config: McpServerConfig,
    { provider, wanted: scope, state }: StepUp,
  ): Promise<McpLogin> => {
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
    // Who signs in may be another one by now; where that is written stays.
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
    return { state: 'open', url: await pageOf(config, state) }
  }
  const finishOnce = async (
    config: McpServerConfig,
    params: URLSearchParams,
    state: string,
  ): Promise<void> => {
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
  return {
    /** For calls: uses and renews tokens, and begins nothing; nothing if nobody is signed in. */
    async providerOf(config: McpServerConfig) {
      const origin = await deps.storeOf(config).get<string>('origin')
      return origin !== undefined && (await isSignedIn(config))
        ? providerOf(config, origin)
        : undefined
    },
    isSignedIn,
    /** The page to open, or that nobody has to. */
    async begin(config: McpServerConfig, origin: string): Promise<McpLogin> {
      const store = deps.storeOf(config)
      const state = `${config.id}.${deps.secret()}`
      store.delete('login')
      const provider = providerOf(config, origin, { state })
      const wanted = await store.get<string>('wanted')
      if (wanted !== undefined) return stepUp(config, { provider, wanted, state })
      // What is known of who signs in may be out of date: it is asked anew.
      store.delete('discovery')
      try {
        const { client, close } = await connect(
          config,
          { ...deps.connectDeps(config), provider },
          { timeoutMs },
        )
        await client.request({ method: 'tools/list', params: {} }, { timeout: timeoutMs })
        await close()
        return { state: 'signed_in' }
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error
        return { state: 'open', url: await pageOf(config, state) }
      }
    },
    /** What the browser brought back. A state counts once, and for a quarter of an hour. */
    async finish(config: McpServerConfig, query: string): Promise<void> {
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
    },
  }
}

const notBegun = () =>
  new IsolaError('request_invalid', 'This sign-in is not one that was begun here, or it is over.')
