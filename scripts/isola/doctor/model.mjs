// The model server of .dev.vars and the shell, as `npm start` would use it.
import { fail, ok, warn } from './finding.mjs'

const timeoutMs = 5_000
const openai = 'https://api.openai.com/v1'

/** Without user, password and query. */
function shownUrl(text) {
  const { protocol, host, pathname } = new URL(text)
  return `${protocol}//${host}${pathname}`
}

/** Asks `<base URL>/models`: no tokens, no cost. */
async function ask(baseUrl, apiKey, fetch) {
  const url = new URL(baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {},
  })
  const body = response.ok ? await response.json().catch(() => undefined) : undefined
  return { status: response.status, ids: body?.data?.map(({ id }) => id) ?? [] }
}

/** What the answer of a model server says about the settings. */
function judge({ status, ids }, { where, model }) {
  if (status === 401 || status === 403)
    return fail('model', `${where} refuses the key (${status}).`, { fix: 'Set OPENAI_API_KEY.' })
  if (status !== 200) {
    const fix = 'Most servers have it; is the /v1 part of OPENAI_BASE_URL?'
    return warn('model', `${where}/models answers ${status}.`, { fix })
  }
  if (model && ids.length > 0 && !ids.includes(model)) {
    const fix = `It lists ${ids.slice(0, 5).join(', ')}. Set ISOLA_MODEL.`
    return warn('model', `${where} does not list ${model}.`, { fix })
  }
  return ok('model', `${where} answers${model ? ` and has ${model}` : ''}.`)
}

export async function checkModel({ env, vars, fetch = globalThis.fetch }) {
  // The shell wins, as for `npm start`.
  const get = (name) => env[name] || vars[name] || ''
  const apiKey = get('OPENAI_API_KEY')
  const model = get('ISOLA_MODEL').replace(/^openai\//, '')
  if ((!get('OPENAI_BASE_URL') && !apiKey) || /^offline(\/offline)?$/.test(model)) {
    const what = 'Locally the built-in offline model answers: fixed rules, no language model.'
    return [ok('model', what)]
  }
  const baseUrl = get('OPENAI_BASE_URL') || openai
  if (!(URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol))) {
    const fix = 'Write it with the /v1, such as http://localhost:11434/v1.'
    return [fail('model', 'OPENAI_BASE_URL is not an http or https URL.', { fix })]
  }
  const where = shownUrl(baseUrl)
  try {
    return [judge(await ask(baseUrl, apiKey, fetch), { where, model })]
  } catch (error) {
    const why =
      error.name === 'TimeoutError' ? 'in 5 seconds' : `(${error.cause?.code ?? 'no connection'})`
    const fix = 'Start the model server, or correct OPENAI_BASE_URL.'
    return [fail('model', `${where} does not answer ${why}.`, { fix })]
  }
}
