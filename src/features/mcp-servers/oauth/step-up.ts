import { auth, type OAuthDiscoveryState } from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import { within } from '../until-aborted.ts'
import type { createOAuthProvider } from './provider.ts'
import { timeoutMs, type SignInDeps } from './sign-in-deps.ts'

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
export async function stepUp(
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
