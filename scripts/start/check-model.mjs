// The model servers of .dev.vars and the shell, as the Worker would use them: each is asked once, by `isola doctor` and
// by `npm start`. Node builtins only: `npm start` runs on whatever Node there is.
import { fail, ok, warn } from './finding.mjs'

const timeoutMs = 10_000
const openai = 'https://api.openai.com/v1'
/** The default model of src/platform/models/selection/model-selector.ts. */
const defaultModel = 'gpt-4o-mini'

/** Without user, password and query. */
function shownUrl(text) {
  const { protocol, host, pathname } = new URL(text)
  return `${protocol}//${host}${pathname}`
}

const isUrl = (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Faults of the setting itself are reported by the Worker's own code. */
function providersIn(text) {
  try {
    const list = JSON.parse(text || '[]')
    return Array.isArray(list) ? list.filter((one) => typeof one?.base_url === 'string') : []
  } catch {
    return []
  }
}

/** The servers that the settings name, each with the models that are asked of it. */
function serversIn(get) {
  const providers = providersIn(get('ISOLA_PROVIDERS'))
  const hasOpenAi = get('OPENAI_BASE_URL') || get('OPENAI_API_KEY')
  const servers = [
    ...(hasOpenAi && !providers.some(({ id }) => id === 'openai')
      ? [
          {
            id: 'openai',
            baseUrl: get('OPENAI_BASE_URL') || openai,
            urlName: 'OPENAI_BASE_URL',
            keyName: 'OPENAI_API_KEY',
            declared: [],
          },
        ]
      : []),
    ...providers.map(({ id, base_url: baseUrl, api_key_secret_name: keyName, models = [] }) => ({
      id,
      baseUrl,
      urlName: `base_url of ${id} in ISOLA_PROVIDERS`,
      keyName,
      declared: models.map(({ name }) => name),
    })),
  ]
  const names = get('ISOLA_MODEL')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !/^(offline(\/|$)|workers-ai\/)/.test(name))
  const [first] = servers
  const implicit = first && (first.id === 'openai' ? [defaultModel] : first.declared.slice(0, 1))
  const asked = get('ISOLA_MODEL') === '' ? (implicit ?? []) : names
  const whose = (name) => {
    const [prefix, ...rest] = name.split('/')
    const named = servers.find(({ id }) => id === prefix)
    if (named && rest.length > 0) return [named, rest.join('/')]
    return [servers.find(({ declared }) => declared.includes(name)) ?? first, name]
  }
  const targets = asked.map(whose)
  return servers.map((server) => ({
    ...server,
    apiKey: server.keyName ? get(server.keyName) : '',
    models: targets.filter(([one]) => one === server).map(([, model]) => model),
  }))
}

async function send(server, path, { fetch, ...init }) {
  const url = new URL(server.baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`
  const response = await fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      ...init.headers,
      ...(server.apiKey && { authorization: `Bearer ${server.apiKey}` }),
    },
  })
  const body = await response.json().catch(() => undefined)
  return { status: response.status, body }
}

const isRefused = (status) => status === 401 || status === 403
const refused = (server, where, status) =>
  fail('model', `${where} refuses the key (${status}).`, {
    fix: server.keyName
      ? `Set ${server.keyName}.`
      : `Name its key: api_key_secret_name of ${server.id} in ISOLA_PROVIDERS.`,
  })

/** Servers list names with a folder before them, or a tag behind. */
const lists = (ids, model) =>
  ids.some((id) => id === model || id === `${model}:latest` || id.endsWith(`/${model}`))

/** Other words than 404, as src/platform/models/openai/failures.ts knows them. */
function isModelUnknown(status, body) {
  const { code, message } = body?.error ?? {}
  if (status !== 400 && status !== 422) return false
  return (
    ['model_not_found', 'DeploymentNotFound'].includes(code) ||
    /not a valid model|invalid model/i.test(message)
  )
}

/** A server without a list is asked for one token: that costs next to nothing. */
async function askOneToken(server, where, model, fetch) {
  const { status, body } = await send(server, '/chat/completions', {
    fetch,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: 'Say yes.' }],
      max_tokens: 1,
    }),
  })
  if (isRefused(status)) return refused(server, where, status)
  if (isModelUnknown(status, body))
    return fail('model', `${where} does not have ${model} (${status}).`, {
      fix: 'Set ISOLA_MODEL.',
    })
  // The server read the request: some refuse a cap of one token, or its field.
  if (status === 200 || ((status === 400 || status === 422) && body !== undefined))
    return ok('model', `${where} answers ${model}.`)
  if (status === 404) {
    const isModel = body?.error !== undefined
    const fix = isModel ? 'Set ISOLA_MODEL.' : `Is the /v1 part of it? Correct ${server.urlName}.`
    const what = isModel ? `does not have ${model}` : 'is no address of a model server'
    return fail('model', `${where} ${what} (404).`, { fix })
  }
  return warn('model', `${where} answers ${status}.`, { fix: 'Look at the model server.' })
}

/** One request to one server, and what its answer says about the settings. */
async function tryServer(server, fetch) {
  if (!isUrl(server.baseUrl)) {
    const fix = 'Write it with the /v1, such as http://localhost:11434/v1.'
    return [fail('model', `${server.urlName} is not an http or https URL.`, { fix })]
  }
  const where = shownUrl(server.baseUrl)
  const [model] = server.models
  try {
    const { status, body } = await send(server, '/models', { fetch })
    if (isRefused(status)) return [refused(server, where, status)]
    if (status !== 200) {
      if (model) return [await askOneToken(server, where, model, fetch)]
      const fix = `Most servers have it; is the /v1 part of it? See ${server.urlName}.`
      return [warn('model', `${where}/models answers ${status}.`, { fix })]
    }
    const ids = Array.isArray(body?.data) ? body.data.map((one) => String(one?.id)) : []
    const missing = ids.length > 0 ? server.models.filter((name) => !lists(ids, name)) : []
    if (missing.length === 0) {
      const has = server.models.length > 0 ? ` and has ${server.models.join(', ')}` : ''
      return [ok('model', `${where} answers${has}.`)]
    }
    const fix = `It lists ${ids.slice(0, 5).join(', ')}. Set ISOLA_MODEL.`
    return missing.map((name) => warn('model', `${where} does not list ${name}.`, { fix }))
  } catch (error) {
    const why =
      error.name === 'TimeoutError' ? 'in 10 seconds' : `(${error.cause?.code ?? 'no connection'})`
    const fix = `Start the model server, or correct ${server.urlName}.`
    return [fail('model', `${where} does not answer ${why}.`, { fix })]
  }
}

export async function checkModel({ env, vars, fetch = globalThis.fetch }) {
  // The shell wins, as for `npm start`.
  const servers = serversIn((name) => env[name] || vars[name] || '')
  const isOffline = /^\s*offline(\/offline)?\s*$/.test(env.ISOLA_MODEL || vars.ISOLA_MODEL || '')
  if (servers.length === 0 || isOffline) {
    const what = 'Locally the built-in offline model answers: fixed rules, no language model.'
    return [ok('model', what)]
  }
  const found = await Promise.all(servers.map((server) => tryServer(server, fetch)))
  return found.flat()
}
