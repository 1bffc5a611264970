import type { Json, JsonObject } from '#contracts/json.ts'
import { isJsonObject, parametersOf, requiredOf, toValue, type Parameter } from './schema.ts'
import { literalsIn, unmask, type Step } from './steps.ts'
import type { Candidate } from './tool-choice.ts'

// The purpose of a parameter, by its name.
const takesTask = /^(?:task|prompt|instructions?|request|question)$/i
const takesQuery = /^(?:q|query|search|topic|keywords?)$/i
const takesText = /^(?:text|message|contents?|body|note|fact|comment|data|value)$/i
const takesKey = /^(?:key|name|id|label|title)$/i
const takesPath = /(?:^|_)(?:path|file|filename)$/i
const takesUrl = /(?:^|_)(?:url|uri|link)$/i

/** Words for what the step before this one gave. */
const earlier = /\b(?:it|them|the (?:result|output|answer|page|text|content|response))\b/i
const onlyEarlier = new RegExp(`^${earlier.source}$`, 'i')
const path =
  /(?<=^|\s)(?:[\w@~.-]*(?:\/[\w@.-]+)+|[\w-][\w.-]*\.[a-z][a-z0-9]{0,4})(?=$|[\s,;:.!?])/i
const articles = /^(?:(?:the|a|an|my|key|value|file|name|that|about|of)(?: |: ?))+/i
const links = '(?:to|under|of|in|into|and|from|with|as|at|for|on|by|is)'
// A name and its value in a step.
const stated = /^(?:set|change) (?<name>.+?) (?:to|=|as) (?<value>.+)$/i
const placed = /^\S+ (?<value>.+) (?:under|as|into|to|in) (?<name>.+)$/i

export interface Filled {
  readonly input: JsonObject
  /** Required arguments that were not said. */
  readonly missing: readonly string[]
}

/**
 * Fills a tool's arguments from what the step says; never invents one.
 *
 * @param previous What the step before gave, for "it" and "the text".
 */
export function fillArguments({ tool, step, rest }: Candidate, previous?: string): Filled {
  const required = requiredOf(tool.inputSchema).map(({ name }) => name)
  // A sole required argument may take the rest of the step; one of several may not.
  const said = { step, previous, rest: required.length === 1 ? rest : undefined }
  const json = /^[^{]*(\{.*\})$/s.exec(unmask(step, 'raw'))?.[1] ?? ''
  const given = toValue({ type: 'object' }, json)
  const values = parametersOf(tool.inputSchema).flatMap((one) => {
    const value = valueFor(one, said)
    return value === undefined ? [] : [[one.name, value] as const]
  })
  const input = isJsonObject(given) ? given : Object.fromEntries(values)
  return { input, missing: required.filter((name) => !Object.hasOwn(input, name)) }
}

interface Said extends Pick<Candidate, 'step' | 'rest'> {
  readonly previous: string | undefined
}

function valueFor(
  { name, schema, isRequired }: Parameter,
  { step, previous, rest }: Said,
): Json | undefined {
  const words = unmask(step)
  const texts = literalsIn(step).map(({ text }) => text)
  if (takesUrl.test(name)) return texts.find((text) => URL.canParse(text))
  if (takesPath.test(name)) return path.exec(words)?.[0]
  const link = `(?:=|: ?| (?:is |to |= )?)(?:the )?(?!${links}\\b)`
  const named = new RegExp(`${word(name)}${link}([\\ue000-\\uf8ff]|[^\\s,;]+)`, 'iu').exec(
    step.text,
  )
  const value = named?.[1] && toValue(schema, phraseOf(named[1], step))
  if (value !== undefined) return value
  if (Array.isArray(schema.enum)) return schema.enum.find((one) => says(words, String(one)))
  if (schema.type === 'boolean' && says(words, name))
    return !says(words, `no ${name}`) && !says(words, `without ${name}`)
  if (takesQuery.test(name)) return / (?:about|for|on) (.+)$/i.exec(words)?.[1]
  if (!isRequired) return undefined
  if (takesTask.test(name))
    return [unmask(step, 'raw'), earlier.test(step.text) && previous].filter(Boolean).join('\n\n')
  if (schema.type === 'integer' || schema.type === 'number')
    return toValue(schema, /(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.])/.exec(words)?.[0] ?? '')
  const pair = rest ? undefined : (stated.exec(step.text) ?? placed.exec(step.text))?.groups
  if (takesText.test(name)) {
    const phrase = { ...step, text: pair?.value ?? rest?.text ?? '' }
    if (onlyEarlier.test(phrase.text)) return previous
    if (phrase.text.startsWith('that ')) return unmask(phrase).slice(5)
    const [literal] = literalsIn(phrase.text === '' ? step : phrase)
    return toValue(schema, literal?.text ?? (pair ? phraseOf(phrase.text, step) : unmask(phrase)))
  }
  const phrase = phraseOf(pair?.name ?? rest?.text ?? '', step)
  const isKey = takesKey.test(name) && /^\S+$/.test(phrase) && !path.test(phrase)
  return isKey || (rest && name !== 'key') ? toValue(schema, phrase) : undefined
}

/** Its words without articles, literals without their marks. */
const phraseOf = (text: string, step: Step): string =>
  unmask({ ...step, text: text.replace(articles, '') }).trim()

/** The name as a word, however it is joined. */
const word = (name: string): string => {
  const escaped = name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  return `(?<![\\p{L}\\p{N}])${escaped.replace(/[ _-]+/g, '[ _-]?')}(?![\\p{L}\\p{N}])`
}

const says = (words: string, one: string): boolean => new RegExp(word(one), 'iu').test(words)
