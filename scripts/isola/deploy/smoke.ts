// Whether a deployment works, as seen from outside.

const requestMs = 10_000
const pauseMs = 2_000

async function ask(url, key) {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(requestMs),
    headers: key ? { authorization: `Bearer ${key}` } : {},
  })
  return { status: response.status, body: await response.json().catch(() => undefined) }
}

/** What a Worker answers that is well: each check throws with what is wrong. */
const checks = {
  async answers({ url }) {
    const { status, body } = await ask(`${url}/healthz`)
    if (status !== 200 || body?.status !== 'ok') throw new Error(`/healthz answered ${status}`)
  },
  async refuses({ url }) {
    const { status } = await ask(`${url}/v1/models`)
    if (status !== 401) throw new Error(`/v1/models without a key answered ${status}, not 401`)
  },
  async lists({ url, key }) {
    const { status, body } = await ask(`${url}/v1/models`, key)
    if (status === 401) throw new Error('the key of the key file is refused')
    if (status !== 200 || !body?.data?.some(({ id }) => id === 'orchestrator'))
      throw new Error(
        `/v1/models answered ${status}${body?.error ? `: ${body.error.message}` : ''}`,
      )
  },
  async isReady({ url, key, version }) {
    const { status, body } = await ask(`${url}/api/operator/health`, key)
    if (status !== 200) throw new Error(`/api/operator/health answered ${status}`)
    if (body.version !== version) throw new Error(`version ${body.version} answers, not ${version}`)
    if (body.database !== 'ok') throw new Error('the database does not answer')
    if (body.migrations?.state !== 'ready') throw new Error('the database is not migrated')
    return body
  },
}

/**
 * Checks until all is well or the time is over: a new Worker, a new version and a new secret take a while to be
 * everywhere.
 * @returns What is well but worth a word.
 */
export async function checkDeployment({ url, key, version, waitMs }) {
  const untilMs = performance.now() + waitMs
  for (;;) {
    try {
      await checks.answers({ url })
      await checks.refuses({ url })
      if (!key) return ['The key is not on this machine: only what a stranger sees was checked.']
      await checks.lists({ url, key })
      return warningsOf(await checks.isReady({ url, key, version }))
    } catch (error) {
      const why = error.cause?.code ?? error.cause?.message ?? ''
      if (performance.now() + pauseMs > untilMs)
        throw new Error(`${url}: ${error.message}${why ? ` (${why})` : ''}`, { cause: error })
      await new Promise((done) => setTimeout(done, pauseMs))
    }
  }
}

function warningsOf({ plugins, models }) {
  return [
    ...(models?.default ? [] : ['No model is set: see "A model" in docs/deploy.md.']),
    ...(plugins ?? []).map(({ plugin, message }) => `The plugin ${plugin} is off: ${message}`),
  ]
}

/** The address among what `wrangler deploy` says it deployed to: a route or a host, a schedule is none. */
export function addressOf(targets) {
  for (const target of targets ?? []) {
    const text = String(target).split(' ')[0].replace(/\/\*$/, '')
    const url = /^https?:\/\//.test(text) ? text : `https://${text}`
    if (URL.canParse(url) && /\.|localhost/.test(new URL(url).hostname) && !url.includes('*'))
      return new URL(url).origin
  }
  return undefined
}
