// Whether a deployment works, as seen from outside.

import { defined } from '../../src/contracts/defined.ts'
import { ApiError, createClient, type Reply } from '../../src/client/client.ts'

const requestMs = 10_000
const pauseMs = 2_000

interface Seen {
  readonly url: string
  readonly key: string
  readonly version: string
}

const clientOf = (url: string, key?: string) =>
  createClient({ url, timeoutMs: requestMs, ...defined({ key }) })

/** Turns a refusal into an error about a path; other failures stay as they are. */
function refused(path: string, say: (error: ApiError) => string) {
  return (error: unknown): never => {
    if (!(error instanceof ApiError) || error.status === 0) throw error
    throw new Error(`${path} ${say(error)}`, { cause: error })
  }
}

/** Checks of a healthy Worker: each throws with the fault that it found. */
const checks = {
  async answers({ url }: { readonly url: string }) {
    const answered = refused('/healthz', ({ status }) => `answered ${status}`)
    const { status } = await clientOf(url).request('GET /healthz').catch(answered)
    if (status !== 'ok') throw new Error('/healthz did not answer ok')
  },
  async refuses({ url }: { readonly url: string }) {
    const path = '/v1/models without a key'
    const status = await clientOf(url)
      .open('GET /v1/models')
      .then(
        (reply) => reply.status,
        (error: unknown) => {
          if (error instanceof ApiError && error.status > 0) return error.status
          throw error
        },
      )
    if (status !== 401) throw new Error(`${path} answered ${status}, not 401`)
  },
  async lists({ url, key }: Pick<Seen, 'url' | 'key'>) {
    const { data } = await clientOf(url, key)
      .request('GET /v1/models')
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 401)
          throw new Error('the key of the key file is refused', { cause: error })
        return refused(
          '/v1/models',
          ({ status, message }) => `answered ${status}: ${message}`,
        )(error)
      })
    if (!data?.some(({ id }) => id === 'orchestrator')) throw new Error('/v1/models answered 200')
  },
  async isReady({ url, key, version }: Seen) {
    const path = '/api/operator/health'
    const health = await clientOf(url, key)
      .request('GET /api/operator/health')
      .catch(refused(path, ({ status }) => `answered ${status}`))
    if (health.version !== version)
      throw new Error(`version ${health.version} answers, not ${version}`)
    if (health.database !== 'ok') throw new Error('the database does not answer')
    if (health.migrations?.state !== 'ready') throw new Error('the database is not migrated')
    return health
  },
}

interface Check {
  readonly url: string
  readonly version: string
  readonly key?: string | undefined
  readonly waitMs: number
}

/** Why nothing answered, as the platform says it. */
function whyOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return ''
  const { code }: NodeJS.ErrnoException = cause
  return cause.cause instanceof Error ? whyOf(cause) : (code ?? cause.message)
}

/**
 * Checks until all is well or the time is over: a new Worker, a new version and a new secret take a while to be
 * everywhere.
 * @returns Remarks about a deployment that works.
 */
export async function checkDeployment({ url, key, version, waitMs }: Check): Promise<string[]> {
  const untilMs = performance.now() + waitMs
  for (;;) {
    try {
      await checks.answers({ url })
      await checks.refuses({ url })
      if (!key) return ['The key is not on this machine: only what a stranger sees was checked.']
      await checks.lists({ url, key })
      return warningsOf(await checks.isReady({ url, key, version }))
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const why = error instanceof ApiError ? whyOf(error) : ''
      if (performance.now() + pauseMs > untilMs)
        throw new Error(`${url}: ${error.message}${why ? ` (${why})` : ''}`, { cause: error })
      await new Promise((done) => setTimeout(done, pauseMs))
    }
  }
}

function warningsOf({ plugins, models }: Reply<'GET /api/operator/health'>): string[] {
  return [
    ...(models?.default ? [] : ['No model is set: see "A model" in docs/deploy.md.']),
    ...(plugins ?? []).map(({ plugin, message }) => `The plugin ${plugin} is off: ${message}`),
  ]
}

/** The address among what `wrangler deploy` says it deployed to: a route or a host, a schedule is none. */
export function addressOf(targets: readonly unknown[] | undefined): string | undefined {
  for (const target of targets ?? []) {
    const text = String(target).replace(/ .*/s, '').replace(/\/\*$/, '')
    const url = /^https?:\/\//.test(text) ? text : `https://${text}`
    if (URL.canParse(url) && /\.|localhost/.test(new URL(url).hostname) && !url.includes('*'))
      return new URL(url).origin
  }
  return undefined
}
