// What npm start says of the model settings.

/** The offline model comes first, or is the only one. */
const isOffline = (model = '') => /^\s*offline(\/offline)?\s*(,|$)/.test(model)

/**
 * Why these settings can be no model's, such as a base URL that is none; undefined if they can. The values are not
 * repeated: they may hold a password.
 */
export function modelProblem(settings) {
  const { OPENAI_BASE_URL: baseUrl, ISOLA_PROVIDERS: providers, ISOLA_PRICES: prices } = settings
  if (providers && !isJson(providers)) return 'ISOLA_PROVIDERS is not JSON on one line.'
  if (prices && !isJson(prices)) return 'ISOLA_PRICES is not JSON on one line.'
  if (baseUrl && !(URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)))
    return 'OPENAI_BASE_URL is not an http or https URL, such as http://localhost:11434/v1.'
  return undefined
}

/** A warning about settings of models that cannot work; undefined if there is none. */
export function modelNote({ OPENAI_BASE_URL, OPENAI_API_KEY, ISOLA_MODEL, ISOLA_PROVIDERS }) {
  if (!ISOLA_MODEL || isOffline(ISOLA_MODEL)) return undefined
  if (OPENAI_BASE_URL || OPENAI_API_KEY || ISOLA_PROVIDERS) return undefined
  return `ISOLA_MODEL=${ISOLA_MODEL} has no server (OPENAI_API_KEY or OPENAI_BASE_URL): the offline model answers.`
}

function isJson(text) {
  try {
    return Boolean(JSON.parse(text))
  } catch {
    return false
  }
}

/** A URL as it may be shown: without user, password and query. */
function shownUrl(text) {
  const { protocol, host: server, pathname } = new URL(text)
  return `${protocol}//${server}${pathname}`
}

/** Which model answers, in one line. */
export function describeModel(settings) {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, ISOLA_MODEL: model } = settings
  if (settings.ISOLA_PROVIDERS && !isOffline(model)) return model || 'default of ISOLA_PROVIDERS'
  if ((!baseUrl && !apiKey) || isOffline(model)) return 'offline (built-in, deterministic)'
  return `${model || 'default'} at ${baseUrl ? shownUrl(baseUrl) : 'api.openai.com'}`
}

/** One real request to each model server, and whether a cost limit meets a model without a price; start goes on. */
export async function describeTrial(trial, problem) {
  const findings = await trial
  const lines = [
    ...findings.flatMap(({ state, what, fix }) => (state === 'ok' ? [] : [what, fix])),
    problem,
  ]
  return lines.flatMap((line) => (line ? [`\n         ${line}`] : [])).join('')
}
