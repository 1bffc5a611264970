import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { literalsIn, type Literal } from './literals.ts'
import {
  asWritten,
  assignedPhrase,
  namedPhrase,
  nameAndValue,
  phraseValue,
  shown,
  withoutToolTalk,
  type Passage,
} from './phrases.ts'
import { isJsonObject, parametersOf, toValue, typeOf, type Parameter } from './schema-shape.ts'
import { leadVerb } from './steps.ts'

/** What arguments may be taken from. */
export interface Source extends Passage {
  /** Code and other blocks of the message that no other step claims. */
  readonly blocks: readonly Literal[]
  /** The last result as text, for "it" and "the result". */
  readonly previous: string | undefined
  /** The tool takes material apart from the task. */
  readonly hasContext?: boolean
}

export type Filled =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly missing: readonly string[] }

const taskNames = /^(?:tasks?|prompt|instructions?|request|question|goal|query_text)$/i
const queryNames =
  /^(?:q|query|search|search_?(?:query|term|text)s?|keywords?|terms?|topic|subject|phrase)$/i
const textNames =
  /^(?:text|message|content|contents|body|note|comment|description|summary|input|data|value|markdown|reason|title)$/i
const codeNames = /^(?:code|source|source_?code|script|snippet|program|diff|patch|expression|sql)$/i
const contextNames = /^(?:context|background|material|materials)$/i
const urlNames = /(?:^|_)(?:url|uri|link|href|website|endpoint|address)$|(?:Url|Uri|Link)$/
const pathNames = /(?:^|_)(?:path|file|filename|file_?name|filepath)$|(?:Path|File)$/
const keyNames =
  /^(?:key|name|id|path|file|filename|field|property|title|slot|variable|label|tag)$/i
const valueNames = /^(?:value|text|content|contents|data|body)$/i

/** Words for what the step before this one gave. */
export const pronoun =
  /\b(?:it|them|(?:this|that|those)(?= (?:to|in|into|under|as|with|at)\b|$)|the (?:result|results|output|answer|page|text|content|response|summary))\b/i
const lonePronoun = new RegExp(`^${pronoun.source}$`, 'i')
const fillers = new Set(
  `the a an my our your its of for in on at to from with by and or is are was be under as me us it that this what which
  please value key name file path stored saved current entry item called named about down up out all any some`.split(
    /\s+/,
  ),
)

/** Fills a tool's arguments from what was said; never invents one. Linear in the text. */
export function fillArguments(
  tool: { readonly name: string; readonly inputSchema: JsonSchema },
  source: Source,
): Filled {
  const { inputSchema, name } = tool
  const parameters = parametersOf(inputSchema)
  const given = givenObject(parameters, source)
  const hasContext = parameters.some((parameter) => contextNames.test(parameter.name))
  const passage = { ...source, text: withoutToolTalk(source.text, name), hasContext }
  const pair = pairFor(parameters, passage)
  const input: Record<string, Json> = {}
  for (const parameter of parameters) {
    const assigned = assignedPhrase(parameter.name, passage)
    const value =
      given?.[parameter.name] ??
      (assigned === undefined ? undefined : toValue(parameter.schema, assigned)) ??
      pair?.[parameter.name] ??
      findValue(parameter, passage, tool, Object.values(input))
    if (value !== undefined)
      Object.defineProperty(input, parameter.name, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  const missing = parameters.filter(
    ({ name: key, isRequired }) => isRequired && !Object.hasOwn(input, key),
  )
  return missing.length > 0
    ? { ok: false, missing: missing.map(({ name: key }) => key) }
    : { ok: true, input }
}

/** An object in the message whose keys are the parameters' is the input itself. */
function givenObject(
  parameters: readonly Parameter[],
  { text, literals, blocks }: Source,
): JsonObject | undefined {
  const known = new Set(parameters.map(({ name }) => name))
  return [...literalsIn(text, literals), ...blocks]
    .map(
      ({ value, kind, text: inner }) =>
        value ?? (kind === 'block' ? toValue({ type: 'object' }, inner) : undefined),
    )
    .filter(isJsonObject)
    .find(
      (value) => Object.keys(value).length > 0 && Object.keys(value).every((key) => known.has(key)),
    )
}

/** A name and its value in one phrase, for tools that want both. */
function pairFor(parameters: readonly Parameter[], source: Source): JsonObject | undefined {
  const required = parameters.filter(({ isRequired }) => isRequired)
  const nameOf = required.find(
    ({ name, schema }) => keyNames.test(name) && typeOf(schema) === 'string',
  )
  const valueOf = required.find(
    (parameter) => parameter !== nameOf && valueNames.test(parameter.name),
  )
  if (!nameOf || !valueOf) return undefined
  const said = nameAndValue(source)
  if (!said) return undefined
  const text =
    source.previous !== undefined && lonePronoun.test(said.value) ? source.previous : said.value
  const value = toValue(valueOf.schema, text)
  return value === undefined ? undefined : { [nameOf.name]: said.name, [valueOf.name]: value }
}

function findValue(
  { name, schema, isRequired }: Parameter,
  source: Source,
  tool: { readonly name: string },
  used: readonly Json[],
): Json | undefined {
  if (schema.const !== undefined) return schema.const
  const isFreeText = taskNames.test(name) || contextNames.test(name)
  const named = isFreeText ? undefined : namedPhrase(name, source)
  const fromName =
    named === undefined || lonePronoun.test(named) ? undefined : toValue(schema, named)
  if (fromName !== undefined) return fromName
  const byKind = Array.isArray(schema.enum)
    ? mentionedEnum(schema.enum, source)
    : byType(name, schema, isRequired, source, used)
  if (byKind !== undefined) return byKind
  if (!isRequired) return undefined
  if (schema.default !== undefined) return schema.default
  const isOfAKind =
    urlNames.test(name) ||
    /e?mail/i.test(name) ||
    schema.format !== undefined ||
    Array.isArray(schema.enum)
  return !isOfAKind && (typeOf(schema) === 'string' || typeOf(schema) === 'any')
    ? restOf(schema, source, tool, used)
    : undefined
}

function mentionedEnum(values: readonly Json[], { text, literals }: Source): Json | undefined {
  const words = ` ${shown(text, literals)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_-]+/gu, ' ')} `
  return values
    .map((value) => ({ value, at: words.indexOf(` ${String(value).toLowerCase()} `) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, z) => a.at - z.at)[0]?.value
}

function byType(
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  source: Source,
  used: readonly Json[],
): Json | undefined {
  const { text, literals } = source
  switch (typeOf(schema)) {
    case 'string':
      return stringFor(name, schema, isRequired, source, used)
    case 'boolean':
      return flagFor(name, text)
    case 'number':
    case 'integer':
      return isRequired ? firstNumber(schema, shown(text, literals), used) : undefined
    case 'array': {
      const list = literalsIn(text, literals).find(({ value }) => Array.isArray(value))?.value
      if (list !== undefined) return list
      return isRequired ? listFor(name, schema, source) : undefined
    }
    case 'object':
      return isRequired ? objectFor(schema, source) : undefined
    case 'any':
      return isRequired
        ? literalsIn(text, literals).find(({ value }) => value !== undefined)?.value
        : undefined
  }
}

function stringFor(
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  source: Source,
  used: readonly Json[],
): string | undefined {
  const { text, literals, blocks } = source
  const inside = literalsIn(text, literals)
  const free = inside.filter((literal) => !used.includes(literal.text))
  const block = free.find(({ kind }) => kind === 'block') ?? blocks[0]
  if (schema.format === 'uri' || schema.format === 'url' || urlNames.test(name))
    return urlIn(inside, shown(text, literals))
  if (schema.format === 'email' || /e?mail/i.test(name))
    return /[^\s<>"',;]{1,64}@[\w-]+(?:\.[\w-]+)+/.exec(shown(text, literals))?.[0]
  if (schema.format === 'date' || schema.format === 'date-time')
    return /\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?/.exec(shown(text, literals))?.[0]
  if (contextNames.test(name)) return contextFor(source)
  if (taskNames.test(name)) return taskFor(source)
  if (codeNames.test(name))
    return block?.text ?? free.find(({ kind }) => kind === 'code' || kind === 'quote')?.text
  if (pathNames.test(name)) return pathIn(text, literals)
  if (!isRequired && !queryNames.test(name)) return undefined
  if (queryNames.test(name)) return queryFor(source, isRequired)
  if (!textNames.test(name)) return undefined
  const quoted = free.find(({ kind }) => kind === 'quote' || kind === 'block')?.text ?? block?.text
  if (quoted !== undefined) return quoted
  return meantBefore(source)[0] ?? afterVerb(source)
}

/** The whole step; blocks and the last result too, if nothing else takes them. */
function taskFor(source: Source): string | undefined {
  const { text, literals, blocks } = source
  if (source.hasContext) {
    return (
      asWritten(
        text,
        literals.map((literal) => (literal.kind === 'block' ? { ...literal, raw: '' } : literal)),
      ) || undefined
    )
  }
  const task = asWritten(text, literals)
  const material = [...blocks.map(({ raw }) => raw), ...meantBefore(source)]
  return task === '' ? undefined : [task, ...material].join('\n\n')
}

function contextFor(source: Source): string | undefined {
  const inside = literalsIn(source.text, source.literals)
  const parts = [
    ...inside.filter(({ kind }) => kind === 'block' || kind === 'json'),
    ...source.blocks,
  ]
  const quotes =
    parts.length > 0 ? parts : inside.filter(({ kind }) => kind === 'quote' || kind === 'code')
  const texts = [...new Set(quotes.map(({ text }) => text)), ...meantBefore(source)]
  return texts.length > 0 ? texts.join('\n\n') : undefined
}

const meantBefore = ({ text, previous }: Source): readonly string[] =>
  previous !== undefined && pronoun.test(text) ? [previous] : []

function queryFor({ text, literals }: Source, isRequired: boolean): string | undefined {
  const quoted = literalsIn(text, literals).find(({ kind }) => kind === 'quote')?.text
  if (quoted !== undefined) return quoted
  const about = / (?:for|about|on|regarding) (.+)$/i.exec(text)?.[1]
  if (about !== undefined) return shown(about, literals)
  return isRequired ? shown(text, literals) || undefined : undefined
}

/** What follows the verb a step begins with: "Note that the build is red" → "the build is red". */
function afterVerb({ text, literals }: Source): string | undefined {
  const rest =
    leadVerb(text) === undefined
      ? text
      : text.replace(
          /^\S+ ?(?:(?:down|me|us)\b ?)?(?:that |(?:the following)?: ?|the following:? )?/i,
          '',
        )
  return shown(rest, literals) || undefined
}

function urlIn(inside: readonly Literal[], words: string): string | undefined {
  const url = inside.find(({ kind, text }) => kind === 'url' || /^https?:\/\//i.test(text))?.text
  if (url !== undefined) return url
  const domain =
    /(?<![\p{L}\p{N}@./_-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,3}\.(?:com|org|net|io|dev|gov|edu|app|ai|co|uk|de|eu)(?:\/\S*)?(?![\p{L}\p{N}])/iu.exec(
      words,
    )?.[0]
  return domain === undefined ? undefined : `https://${domain}`
}

function pathIn(text: string, literals: readonly Literal[]): string | undefined {
  const words = text.split(/[\s,;]+/).map((word) => shown(word, literals))
  const path = words.find((word) =>
    /^[\w@~.-]*(?:\/[\w@.-]+)+$|^[\w-]+\.[a-z][a-z0-9]{0,9}$/i.test(word),
  )
  return (
    path ??
    literalsIn(text, literals).find(
      ({ kind, text: inner }) => kind !== 'block' && /^\S{1,200}$/.test(inner),
    )?.text
  )
}

/** A flag is set by being named: "recursive", "without headers". */
function flagFor(name: string, text: string): boolean | undefined {
  const spoken = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]/g, ' ')
    .toLowerCase()
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}']+/gu, ' ')} `
  const at = words.indexOf(` ${spoken} `)
  if (at < 0 || spoken.length < 4) return undefined
  return !/ (?:no|not|without|don't|never|disable)(?: the)?$/.test(
    words.slice(Math.max(0, at - 20), at),
  )
}

function firstNumber(schema: JsonSchema, words: string, used: readonly Json[]): number | undefined {
  return words
    .split(/[^\p{L}\p{N}.+_,-]+/u)
    .map((word) => toValue(schema, word.replace(/[.,]+$/, '')))
    .find((value): value is number => typeof value === 'number' && !used.includes(value))
}

function listFor(name: string, schema: JsonSchema, { text, literals }: Source): Json | undefined {
  const { items } = schema
  const inside = literalsIn(text, literals).filter(
    ({ kind }) => kind === 'quote' || kind === 'code' || kind === 'url',
  )
  if (inside.length > 0) return inside.map(({ text: inner }) => inner)
  if (isJsonObject(items) && typeOf(items) === 'object') return undefined
  const about = /(?::| (?:for|of|about)) (.+)$/i.exec(text)?.[1]
  if (about !== undefined) return toValue(schema, phraseValue(about, literals))
  return queryNames.test(name.replace(/ies$/, 'y').replace(/s$/, ''))
    ? [shown(text, literals)]
    : undefined
}

function objectFor(schema: JsonSchema, source: Source): Json | undefined {
  const given = literalsIn(source.text, source.literals).find(({ value }) =>
    isJsonObject(value),
  )?.value
  if (given !== undefined) return given
  if (!isJsonObject(schema.properties)) return undefined
  const filled = fillArguments({ name: '', inputSchema: schema }, source)
  return filled.ok && Object.keys(filled.input).length > 0 ? filled.input : undefined
}

/** A short value that is all a step says besides its verb and the tool's name: "get colour". */
function restOf(
  schema: JsonSchema,
  { text, literals }: Source,
  { name }: { readonly name: string },
  used: readonly Json[],
): Json | undefined {
  const literal = literalsIn(text, literals).find(
    ({ kind, text: inner }) => kind !== 'block' && !used.includes(inner),
  )
  if (literal) return toValue(schema, literal.text)
  const about = / (?:of|for|under|named|called) (?:the )?(?:key |name |id |file )?(\S+)$/i.exec(
    text,
  )?.[1]
  if (about !== undefined && !used.includes(about)) return toValue(schema, about)
  const said = new Set(name.toLowerCase().split(/[_-]+/))
  const words = text
    .split(' ')
    .filter((word, index) => !(index === 0 && leadVerb(text) !== undefined))
    .map((word) => word.replace(/[^\p{L}\p{N}_.:/-]/gu, ''))
    .filter(
      (word) =>
        word !== '' &&
        !fillers.has(word.toLowerCase()) &&
        !said.has(word.toLowerCase()) &&
        !used.includes(word),
    )
  return words.length === 1 && words[0] !== undefined ? toValue(schema, words[0]) : undefined
}
