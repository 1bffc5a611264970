// The options of a verb: how each is written, what help says of it, and which field of a request it fills.

import { short } from './text.ts'

// Usage lines: how many arguments they ask for, and names that are near to an unknown word.

/** The command line is wrong, not what it asks for: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Single edits (insert, delete, replace, swap neighbours) from one word to another. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    const at = (line: readonly number[], column: number) => line[column] ?? Infinity
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next[j] = Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        next[j] = Math.min(at(next, j), at(before, j - 2) + 1)
    }
    before = row
    row = next
  }
  return row[to.length] ?? Infinity
}

/** The names a person may have meant, nearest first, at most three. */
export function near(word: string, names: readonly string[]): string[] {
  return names
    .map((name) => ({
      name,
      far: name.startsWith(word) && word.length > 1 ? 0 : distance(word, name),
    }))
    .filter(
      ({ name, far }) => far <= Math.max(1, Math.floor(Math.max(name.length, word.length) / 3)),
    )
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name)
}

/** "There is no noun sesion. Did you mean session?" */
export function unknown(kind: string, word: string, names: readonly string[]): UsageError {
  const meant = near(word, names)
  const hint =
    meant.length > 0
      ? `Did you mean ${meant.join(' or ')}?`
      : `There ${names.length === 1 ? 'is' : 'are'}: ${names.join(', ')}.`
  return new UsageError(`There is no ${kind} ${word}. ${hint}`)
}

/** The arguments of the first line of a usage text, without its options: the other lines are about those. */
const argumentText = (usage: string): string =>
  (usage.split('\n')[0] ?? '')
    .replace(/\[--[^[\]]*\]…?/g, '')
    .replace(/(?<![\w-])--?\w[\w-]*[ =]<[^<>]*>…?/g, '')

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/<([^<>]*)>/g)].map(([, name = '']) => name)

/** The names of the arguments of a usage line, in their order. */
export const argumentsIn = (usage: string): readonly string[] => namesIn(argumentText(usage))

/**
 * How many arguments a usage text asks for. `<name>` is one, `[<name>]` one that may be left out, and after `…` there
 * may
 * be more. Of several lines that begin with `isola` any one may be meant.
 */
export function countArguments(usage: string) {
  const forms = usage.split(/\n *(?=isola )/).map(argumentText)
  const needed = forms.map((form) => namesIn(form.replace(/\[[^[\]]*\]/g, '')).length)
  const most = forms.map((form) => (form.includes('…') ? Infinity : namesIn(form).length))
  return { min: Math.min(...needed), max: Math.max(...most) }
}

/** An option, with what help says of it. */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** The name of its value in help. */
  readonly value?: string | undefined
  readonly about?: string | undefined
  /** The field of the request that it fills, `daily.runs` for one further in; its own name if absent, none if null. */
  readonly to?: string | null
  /** The value that is sent, of the text that was given; `option` is how its user wrote it: `--limit`. */
  readonly read?: (text: string, option: string) => unknown
  /** The same of all texts of an option that may be repeated. */
  readonly readAll?: (texts: readonly string[]) => unknown
  /** Several fields that it fills, in place of `to`. */
  readonly fields?: (given: never) => object
  /** The value that a flag sends; true if absent. */
  readonly sends?: unknown
  /** Another option that excludes this one. */
  readonly not?: string
}
export type Options = Readonly<Record<string, Option>>

type ValueOf<One> = One extends { readonly type: 'boolean' }
  ? boolean
  : One extends { readonly multiple: true }
    ? readonly string[]
    : One extends { readonly type: 'string' }
      ? string
      : never

/** The values of options as they were given. */
export type ValuesOf<All> = { readonly [Name in keyof All]?: ValueOf<All[Name]> | undefined }

type More = Omit<Option, 'type' | 'value' | 'about' | 'multiple'>

/** An option with a value: `--agent <name>`. */
export const text = (value?: string, about?: string, more: More = {}) =>
  ({ type: 'string', value, about, ...more }) as const
/** The same, which may be given several times. */
export const texts = (value?: string, about?: string, more: More = {}) =>
  ({ type: 'string', multiple: true, value, about, ...more }) as const
export const flag = (about?: string, more: More = {}) =>
  ({ type: 'boolean', about, ...more }) as const
/** An option whose value is a whole number. */
export const count = (value: string, about?: string, more: More = {}) =>
  text(value, about, { read: toNumber, ...more })

/** The options that several verbs share. */
export const dryRun = {
  'dry-run': flag('say what would be done, and do nothing'),
}
/** The same where the command looks by itself: the server is not asked to rehearse. */
export const rehearsal = {
  'dry-run': { ...dryRun['dry-run'], to: null },
}
export const yes = { yes: flag('do not ask', { short: 'y', to: null }) }
/** Lists of one's own, of another principal or of all. */
export const whose = {
  principal: text('name', 'of another principal; for operators and auditors'),
  all: flag('of all principals; for operators and auditors', {
    to: 'principal',
    sends: '*',
    not: 'principal',
  }),
}

/** @param what As its user wrote it: `--limit`, `version`. */
export function toNumber(text: string, what: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`${what} is a whole number, not ${short(text, 40)}.`)
}

export function toJson(text: string, what: string) {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${what} is a JSON object, such as {"key":"a"}.`)
  }
}

const camelCase = (name: string) =>
  name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())

type Fields = Record<string, unknown>

function put(fields: Fields, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) fields[first] = value
  else put((fields[first] ??= {}) as Fields, rest.join('.'), value)
}

function toSend({ read, readAll, sends }: Option, option: string, given: unknown): unknown {
  if (given === true) return sends === undefined ? true : sends
  if (!Array.isArray(given)) return read ? read(String(given), option) : given
  return readAll ? readAll(given) : given.map((one) => (read ? read(one, option) : one))
}

/** Fields of a request as they were given: the server checks their values. */
export type Sent = Readonly<Record<string, never>>

/** The fields of a request that the options which were given fill. Throws where two exclude each other. */
export function sentOf(options: Options, values: Readonly<Record<string, unknown>>): Sent {
  const fields: Fields = {}
  for (const [name, option] of Object.entries(options)) {
    const { to = camelCase(name), not, fields: several } = option
    if (values[name] === undefined || values[name] === false) continue
    if (not !== undefined && values[not] !== undefined)
      throw new UsageError(`--${name} and --${not} exclude each other.`)
    if (several) Object.assign(fields, several(values[name] as never))
    if (to !== null) put(fields, to, toSend(option, `--${name}`, values[name]))
  }
  return fields as Sent
}
