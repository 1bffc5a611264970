import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { textFor, type Source } from './argument-text.ts'
import { firstNumber, flagFor, listFor, mentionedEnum } from './argument-values.ts'
import { literalsIn } from './literals.ts'
import {
  contextNames,
  lonePronoun,
  pairIn,
  pathNames,
  taskNames,
  urlNames,
} from './parameter-names.ts'
import { assignedPhrase, namedPhrase, nameAndValue, shown, withoutToolTalk } from './phrases.ts'
import { isJsonObject, parametersOf, toValue, typeOf, type Parameter } from './schema-shape.ts'
import { leadVerb, withoutEnd } from './steps.ts'

export type Filled =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly missing: readonly string[]; readonly input: JsonObject }

// Words beside which a single other word is the value: "get the stored colour".
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
  const input = new Map<string, Json>()
  for (const parameter of parameters) {
    const assigned = assignedPhrase(parameter.name, passage)
    const found =
      (assigned === undefined ? undefined : toValue(parameter.schema, assigned)) ??
      pair?.[parameter.name] ??
      findValue(parameter, passage, tool, [...input.values()])
    const isPath = pathNames.test(parameter.name) && typeof found === 'string'
    const value = given?.[parameter.name] ?? (isPath ? firstSentence(found) : found)
    if (value !== undefined) input.set(parameter.name, value)
  }
  const missing = parameters.flatMap(({ name: key, isRequired }) =>
    isRequired && !input.has(key) ? [key] : [],
  )
  const said = Object.fromEntries(input)
  return missing.length > 0 ? { ok: false, missing, input: said } : { ok: true, input: said }
}

/** A path ends where the sentence does. */
function firstSentence(path: string): string {
  const end = path.search(/[.!?](?=\s)/)
  return withoutEnd(end > 0 ? path.slice(0, end) : path) || path
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
  const wanted = pairIn(parameters)
  const said = wanted && nameAndValue(source)
  if (!said) return undefined
  const { nameOf, valueOf } = wanted
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
      return textFor(name, schema, isRequired, source, used)
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
