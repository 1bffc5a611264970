// A command: its words, its options, its request, and how the answer is shown.
import type { Readable } from 'node:stream'
import type { Client, Reply, Route } from '../src/client/client.ts'
import type { WranglerProgram } from './deploy/wrangler.ts'
import { sentOf, type Option, type Options, type Sent, type ValuesOf } from './options.ts'
import { short } from './text.ts'
import { argumentsIn, UsageError } from './usage.ts'

export type { Options, ValuesOf } from './options.ts'

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

/** The process that a command runs in: environment, streams, and what a test puts in their place. */
export interface Io {
  readonly env: Env
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly fetch?: typeof fetch
  /** Runs wrangler for `deploy`: in a process, unless a test does. */
  readonly wrangler?: WranglerProgram
  /** How a command that goes on waits, and what ends it: Ctrl-C, unless a test does. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal?: AbortSignal
}

/** The context of a command that runs. The frame has checked the number of arguments against the usage line. */
export interface Context<Values = object, Args = readonly string[]> extends Io {
  readonly args: Args
  readonly values: Values
  readonly isJson: boolean
  /** The server, with its key. Throws where there is none. */
  readonly connect: () => Client
  readonly request: Client['request']
  /** Prints the result: the value with --json, else the text. */
  readonly print: (value: unknown, text?: string) => void
}

/** Exit code; 0 if it is none. */
type Outcome = number | void

export interface Verb<All = Options> {
  readonly usage: string
  /** The route of a verb that is one request. */
  readonly route?: Route
  readonly about?: string
  readonly options?: All
  /** The question before something is taken away. The verb then has --yes, and is refused without a terminal. */
  asks?(context: Context<ValuesOf<All>, never>): string | Promise<string>
  run(context: Context<ValuesOf<All>, never>): Outcome | Promise<Outcome>
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
interface Declared<All = Options> extends Omit<Verb<All>, 'usage'> {
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

/** The same of a command that has no verbs. */
export const command = <const All extends Options>(
  name: string,
  declared: Declared<All>,
  more: Pick<Module, 'needsClone'> = {},
): Module => ({
  noun: name,
  ...more,
  ...(declared as Declared),
  usage: usageOf(`isola ${name}`, declared as Declared),
})

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
interface Called<Usage extends string, All> extends Context<
  ValuesOf<All>,
  ArgumentsOf<Head<Usage>>
> {
  /** The fields of a request that the options which were given fill. */
  readonly sent: () => Sent
}

/** A verb with code of its own: several requests, files of this machine, questions. */
export const verb = <const Usage extends string = '', const All extends Options = {}>({
  run,
  asks,
  ...declared
}: {
  readonly usage?: Usage
  readonly about?: string
  readonly options?: All
  readonly asks?: (context: Called<Usage, All>) => string | Promise<string>
  readonly run: (context: Called<Usage, All>) => Outcome | Promise<Outcome>
}): Declared => {
  const called = (context: Context): Called<Usage, All> => {
    const values = (context.values ?? {}) as ValuesOf<All>
    const sent = () => sentOf(declared.options ?? {}, { ...values })
    // The frame has counted the arguments of the usage line.
    return { ...context, args: context.args as never, values, sent }
  }
  return {
    ...declared,
    ...(asks && { asks: (context: Context) => asks(called(context)) }),
    run: (context: Context) => run(called(context)),
  }
}

/** The command line that an answer is about. */
interface Given<All> {
  readonly args: readonly string[]
  readonly values: ValuesOf<All>
}

/** A verb that is one request. */
interface Asking<Of extends Route, All> {
  readonly usage?: string
  readonly about?: string
  readonly options?: All
  /** Fields that are sent besides the options; `{}` where a body is needed and may be empty. */
  readonly sends?: object | undefined
  /** The usage error where no option was given, for a route that changes what is named. */
  readonly needs?: string
  /** The question before it, about its first argument. */
  readonly asks?: (first: string) => string
  /** The answer for a person. */
  readonly says: (reply: Reply<Of>, given: Given<All>) => string
  /** The words before the answer with --dry-run. */
  readonly would?: string
  /** The route that --dry-run reads, where the route itself has no rehearsal. */
  readonly reads?: Route
  readonly saysRead?: (reply: never, given: Given<All>) => string
}

/** The request of a route: arguments fill its parameters, then fields by name; options fill the fields they name. */
function requestOf(
  route: Route,
  { usage = '', options = {}, sends }: Pick<Asking<Route, Options>, 'usage' | 'options' | 'sends'>,
  { args, values }: Given<Options>,
) {
  const parameters = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const names = [...parameters, ...argumentsIn(usage).slice(parameters.length)]
  const given = names.flatMap((name, at) => (args[at] === undefined ? [] : [[name, args[at]]]))
  const fields = {
    ...sends,
    ...Object.fromEntries(given.slice(parameters.length)),
    ...sentOf(options, values),
  }
  const isSent = sends !== undefined || Object.keys(fields).length > 0
  return {
    params: Object.fromEntries(given.slice(0, parameters.length)),
    ...(isSent && { [/^(GET|DELETE) /.test(route) ? 'query' : 'body']: fields }),
  }
}

/** A verb of a table that asks one route and shows its answer. */
export function on<Of extends Route, const All extends Options = {}>(
  route: Of,
  { sends, needs, asks, says, would, reads, saysRead, ...declared }: Asking<Of, All>,
): Declared {
  const told = (said: string) => `${would}${would?.endsWith(':') ? '\n' : ''}${said}`
  return {
    ...declared,
    route,
    ...(asks && { asks: ({ args: [first = ''] }: Context) => asks(short(first)) }),
    async run({ args, request, print, ...context }: Context<ValuesOf<All>>) {
      const values = (context.values ?? {}) as ValuesOf<All>
      // The names of fields are held against docs/openapi.json by a test.
      const ask = request as unknown as (of: Route, given: object) => Promise<Reply<Of>>
      const given: Given<Options> = { args, values: { ...values } }
      if (needs && Object.keys(sentOf(declared.options ?? {}, given.values)).length === 0)
        throw new UsageError(needs)
      const isRehearsed = given.values['dry-run'] === true
      if (isRehearsed && reads) {
        const read = (await ask(reads, requestOf(reads, {}, given))) as never
        return print(read, told((saysRead ?? says)(read, { args, values })))
      }
      const reply = await ask(route, requestOf(route, { ...declared, sends }, given))
      const said = says(reply, { args, values })
      print(reply, isRehearsed && would !== undefined ? told(said) : said)
    },
  }
}
