// A command: its words, its options, its request, and how the answer is shown.
import type { Readable } from 'node:stream'
import type { Client, Reply, Request, Route } from '../src/client/client.ts'
import type { WranglerProgram } from './deploy/wrangler.ts'
import type { Option, Options, Sent, ValuesOf } from './options.ts'
import { short } from './text.ts'
import { argumentsIn } from './options.ts'

/** An input that may be a terminal. */
export type Input = Readable & {
  readonly isTTY?: boolean
  readonly setRawMode?: (isRaw: boolean) => unknown
  readonly unref?: () => unknown
}
/** An output that may be a terminal. */
export interface Output {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
}
export type Env = Readonly<Record<string, string | undefined>>

/** The streams of a person who is asked. */
export interface Terminal {
  readonly stdin: Input
  readonly stderr: Output
}

/** The process that a command runs in: environment, streams, and what a test puts in their place. */
export interface Io extends Terminal {
  readonly env: Env
  readonly stdout: Output
  readonly fetch?: typeof fetch
  /** Runs wrangler for `deploy`: in a process, unless a test does. */
  readonly wrangler?: WranglerProgram
  /** How a command that goes on waits, and what ends it: Ctrl-C, unless a test does. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal?: AbortSignal
}

/** Where the fields of a request are. */
type Where<Of extends Route> = (Of extends `${'GET' | 'DELETE'} ${string}` ? 'query' : 'body') &
  keyof Request<Of>
/** Optional fields may be undefined: neither JSON nor a query has those. */
type Loose<All> = {
  [Name in keyof All]: {} extends Pick<All, Name> ? All[Name] | undefined : All[Name]
}
type Fields<Of extends Route> = [Where<Of>] extends [never] ? undefined : Request<Of>[Where<Of>]
type Asked<Of extends Route> =
  undefined extends Fields<Of>
    ? [fields?: Loose<Fields<Of>>, params?: readonly string[]]
    : [fields: Loose<Fields<Of>>, params?: readonly string[]]

/** How a command tells its result. */
export interface Telling {
  readonly isJson: boolean
  readonly stdout: Output
  readonly stderr: Output
  /** Prints the result: the value with --json, else the text. */
  readonly print: (value: unknown, text?: string) => void
}

/** The context of a command that runs. The frame has checked the number of arguments against the usage line. */
export interface Context<Values = object, Args = readonly string[]> extends Io, Telling {
  readonly args: Args
  readonly values: Values
  /** The fields of a request that the options which were given fill. */
  readonly sent: () => Sent
  /** The server, with its key. Throws where there is none. */
  readonly connect: () => Client
  readonly request: Client['request']
  /** Asks a route by the fields of its body or query. The arguments fill its parameters, unless `params` do. */
  readonly ask: <Of extends Route>(route: Of, ...asked: Asked<Of>) => Promise<Reply<Of>>
}

export const parametersIn = (route: string): readonly string[] =>
  [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

/** `ask` of a context. */
export const createAsk =
  (request: Client['request'], args: readonly string[]): Context['ask'] =>
  (route, fields?: unknown, params: readonly string[] = args) => {
    const named = parametersIn(route).map((name, at) => [name, params[at]])
    const where = /^(GET|DELETE) /.test(route) ? 'query' : 'body'
    const given = {
      params: Object.fromEntries(named),
      ...(fields !== undefined && { [where]: fields }),
    }
    return request(route, ...([given] as never))
  }

/** Exit code; 0 if it is none. */
type Outcome = number | void

export interface Verb {
  readonly usage: string
  /** The route of a verb that is one request. */
  readonly route?: Route
  readonly about?: string
  readonly options?: Options
  /** The question before something is taken away. The verb then has --yes, and is refused without a terminal. */
  asks?(context: Context<ValuesOf<Options>, never>): string | Promise<string>
  run(context: Context<ValuesOf<Options>, never>): Outcome | Promise<Outcome>
}

/** A noun with verbs, or a command by itself. */
export interface Module extends Partial<Verb> {
  readonly noun: string
  /** Where it is not the noun with an s. */
  readonly plural?: string
  readonly needsClone?: boolean
  readonly verbs?: Readonly<Record<string, Verb>>
}

/** A verb as a table has it. */
interface Declared extends Omit<Verb, 'usage'> {
  /** The rest of its usage line after the verb. Its options are added, unless it names some itself. */
  readonly usage?: string
}

const optionText = (name: string, { type, value, multiple }: Option) =>
  `[--${name}${type === 'boolean' ? '' : ` <${value ?? name}>`}]${multiple ? '…' : ''}`

/** `isola login list [--principal <name>]`: the arguments, then each option; --yes and --dry-run are the last. */
function usageOf(words: string, { usage = '', options = {}, asks }: Declared): string {
  const head = `${words} ${usage}`.trimEnd()
  if (/--\w|\[options/.test(usage)) return head
  const { 'dry-run': dry, all, yes, ...others } = options
  const own = Object.entries(others).map(([name, option]) =>
    name === 'principal' && all ? '[--principal <name> | --all]' : optionText(name, option),
  )
  if (all && !options['principal']) own.push(optionText('all', all))
  return [head, ...own, ...(asks || yes ? ['[--yes]'] : []), ...(dry ? ['[--dry-run]'] : [])].join(
    ' ',
  )
}

/** A noun with its verbs. */
export function noun<const Verbs extends Readonly<Record<string, Declared>>>(
  name: string,
  verbs: Verbs,
  more: Pick<Module, 'plural'> = {},
) {
  const named = Object.entries(verbs).map(([word, declared]) => [
    word,
    { ...declared, usage: usageOf(`isola ${name} ${word}`, declared) },
  ])
  const made: { readonly [Name in keyof Verbs]: Verb } = Object.fromEntries(named)
  return { noun: name, ...more, verbs: made }
}

/** The arguments of a usage text: what stands before its first option. */
type Head<Usage extends string> = Usage extends
  | `${infer Before}\n${string}`
  | `${infer Before} [--${string}`
  | `${infer Before} --${string}`
  | `${infer Before} (--${string}`
  | `${infer Before} [options${string}`
  ? Head<Before>
  : Usage

/** The types of the arguments `<name> [<other>] …`. */
type ArgumentsOf<Usage extends string> = string extends Usage
  ? readonly string[]
  : Usage extends `[<${string}>] <${string}>`
    ? readonly [string, string?]
    : Usage extends `[<${string}>${']' | ''}${' ' | ''}…${string}`
      ? readonly string[]
      : Usage extends `<${string}>${' ' | ''}…${string}` | `<${string}…>`
        ? readonly [string, ...string[]]
        : Usage extends `[<${string}>]${infer Rest}`
          ? readonly [string?, ...ArgumentsOf<Trimmed<Rest>>]
          : Usage extends `<${string}>${infer Rest}`
            ? readonly [string, ...ArgumentsOf<Trimmed<Rest>>]
            : readonly []
type Trimmed<Text extends string> = Text extends ` ${infer Rest}` ? Rest : Text

/** The context of a verb with code of its own: its arguments and options by their types. */
type Called<Usage extends string, All> = Context<ValuesOf<All>, ArgumentsOf<Head<Usage>>>

/** A verb with code of its own: several requests, files of this machine, questions. */
export const verb = <const Usage extends string = '', const All extends Options = {}>(declared: {
  readonly usage?: Usage
  readonly about?: string
  readonly options?: All
  readonly asks?: (context: Called<Usage, All>) => string | Promise<string>
  readonly run: (context: Called<Usage, All>) => Outcome | Promise<Outcome>
}) => declared as unknown as Declared

/** A command that has no verbs. */
export const command = <const All extends Options>(
  name: string,
  {
    needsClone = false,
    ...declared
  }: Parameters<typeof verb<string, All>>[0] & {
    readonly needsClone?: boolean
  },
): Module => {
  const made = verb(declared)
  return { noun: name, needsClone, ...made, usage: usageOf(`isola ${name}`, made) }
}

/** A verb that is one request. */
interface Asking<Of extends Route, All> {
  readonly usage?: string
  readonly about?: string
  readonly options?: All
  /** Fields that are sent besides the options; `{}` where a body is needed and may be empty. */
  readonly sends?: object | ((given: Context<ValuesOf<All>>) => object | Promise<object>)
  /** The question before it, about its first argument. */
  readonly asks?: (first: string) => string
  /** The answer for a person. */
  readonly says: (reply: Reply<Of>, given: Context<ValuesOf<All>>) => string
  /** The answer with --dry-run; or the words before it. */
  readonly would?: string | ((reply: never, given: Context<ValuesOf<All>>) => string)
  /** The route that --dry-run reads, where the route itself has no rehearsal. */
  readonly reads?: Route
}

/** A verb of a table that asks one route and shows its answer. Arguments that are no parameters fill fields by name. */
export function on<Of extends Route, const All extends Options = {}>(
  route: Of,
  { sends, asks, says, would, reads, ...declared }: Asking<Of, All>,
): Declared {
  const names = argumentsIn(declared.usage ?? '')
  return {
    ...declared,
    route,
    ...(asks && { asks: ({ args: [first = ''] }: Context) => asks(short(first)) }),
    async run(context: Context<ValuesOf<All> & { readonly 'dry-run'?: boolean }>) {
      const { args, values, sent, print } = context
      // The names of fields are held against docs/openapi.json by a test.
      const ask = context.ask as (of: Route, fields?: object) => Promise<never>
      const isRehearsed = would && values['dry-run']
      const tell = (reply: never) => {
        if (typeof would === 'function' && isRehearsed) return print(reply, would(reply, context))
        print(reply, `${isRehearsed ? would : ''}${says(reply, context)}`)
      }
      if (isRehearsed && reads) return tell(await ask(reads))
      const more = typeof sends === 'function' ? await sends(context) : sends
      const named = names.map((name, at) => [name, args[at]]).slice(parametersIn(route).length)
      const fields = { ...Object.fromEntries(named), ...more, ...sent() }
      const isSent = more ?? Object.values(fields).some((value) => value !== undefined)
      tell(await ask(route, isSent ? fields : undefined))
    },
  }
}
