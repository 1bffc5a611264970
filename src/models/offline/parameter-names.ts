import { typeOf, type Parameter } from './schema-shape.ts'

// What a parameter is for, as far as its name says.

export const taskNames = /^(?:tasks?|prompt|instructions?|request|question|goal|query_text)$/i
export const queryNames =
  /^(?:q|query|search|search_?(?:query|term|text)s?|keywords?|terms?|topic|subject|phrase)$/i
export const textNames =
  /^(?:text|message|content|contents|body|note|comment|description|summary|input|data|value|markdown|reason|title)$/i
export const codeNames =
  /^(?:code|source|source_?code|script|snippet|program|diff|patch|expression|sql)$/i
export const contextNames = /^(?:context|background|material|materials)$/i
export const urlNames = /(?:^|_)(?:url|uri|link|href|website|endpoint|address)$|(?:Url|Uri|Link)$/
export const pathNames = /(?:^|_)(?:path|file|filename|file_?name|filepath)$|(?:Path|File)$/
const keyNames =
  /^(?:key|name|id|path|file|filename|field|property|title|slot|variable|label|tag)$/i
const valueNames = /^(?:value|text|content|contents|data|body)$/i

/** The two required parameters that a name and its value go to, for tools that want both. */
export function pairIn(
  parameters: readonly Parameter[],
): { readonly nameOf: Parameter; readonly valueOf: Parameter } | undefined {
  const required = parameters.filter(({ isRequired }) => isRequired)
  const nameOf = required.find(
    ({ name, schema }) => keyNames.test(name) && typeOf(schema) === 'string',
  )
  const valueOf = required.find(
    (parameter) => parameter !== nameOf && valueNames.test(parameter.name),
  )
  return nameOf && valueOf && { nameOf, valueOf }
}

/** Words for what the step before this one gave. */
export const pronoun =
  /\b(?:it|them|(?:this|that|those)(?= (?:to|in|into|under|as|with|at)\b|$)|the (?:result|results|output|answer|page|text|content|response|summary))\b/i
export const lonePronoun = new RegExp(`^${pronoun.source}$`, 'i')
