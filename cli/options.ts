// The options of a verb: how each is written, what help says of it, and which field of a request it fills.
import { short } from './text.ts'
import { UsageError } from './usage.ts'

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
} as const satisfies Options
/** The same where the command looks by itself: the server is not asked to rehearse. */
export const rehearsal = {
  'dry-run': { ...dryRun['dry-run'], to: null },
} as const satisfies Options
export const yes = { yes: flag('do not ask', { short: 'y', to: null }) } as const satisfies Options
/** Lists of one's own, of another principal or of all. */
export const whose = {
  principal: text('name', 'of another principal; for operators and auditors'),
  all: flag('of all principals; for operators and auditors', {
    to: 'principal',
    sends: '*',
    not: 'principal',
  }),
} as const satisfies Options

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
