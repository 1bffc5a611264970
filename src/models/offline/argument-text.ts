import type { Json, JsonSchema } from '#contracts/json.ts'
import { literalsIn, unmask, type Literal } from './literals.ts'
import {
  codeNames,
  contextNames,
  pathNames,
  pronoun,
  queryNames,
  taskNames,
  textNames,
  urlNames,
} from './parameter-names.ts'
import { asWritten, looksLikePath, shown, type Passage } from './phrases.ts'
import { leadVerb, withoutEnd } from './steps.ts'

/** What arguments may be taken from. */
export interface Source extends Passage {
  /** Code and other blocks of the message that no other step claims. */
  readonly blocks: readonly Literal[]
  /** The last result as text, for "it" and "the result". */
  readonly previous: string | undefined
  /** The tool takes material apart from the task. */
  readonly hasContext?: boolean
}

/** Text for a parameter, by its format and name; `undefined` if the step holds none for it. */
export function textFor(
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
  if (source.hasContext)
    return (
      unmask(text, literals, ({ kind, raw }) => (kind === 'block' ? '' : raw)).trim() || undefined
    )
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
  const words = text.split(/[\s,;]+/).map((word) => withoutEnd(shown(word, literals)))
  const path = words.find(looksLikePath)
  return (
    path ??
    literalsIn(text, literals).find(
      ({ kind, text: inner }) => kind !== 'block' && /^\S{1,200}$/.test(inner),
    )?.text
  )
}
