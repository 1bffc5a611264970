// What a command is: its usage line, its options, and what it does.
import type { Readable } from 'node:stream'
import type { Client } from '../../src/client/client.ts'
import type { WranglerProgram } from './deploy/wrangler.ts'

/** An option, as `parseArgs` of node:util takes it, with what the help says. */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** What its value is called. */
  readonly value?: string
  readonly about?: string
}
export type Options = Readonly<Record<string, Option>>

type ValueOf<One> = One extends { readonly type: 'boolean' }
  ? boolean
  : One extends { readonly multiple: true }
    ? readonly string[]
    : One extends { readonly type: 'string' }
      ? string
      : never

/** Says what would be done, and does nothing. */
export const dryRun = {
  'dry-run': { type: 'boolean', about: 'say what would be done, and do nothing' },
} as const satisfies Options

/** What was given of some options. */
export type ValuesOf<All> = { readonly [Name in keyof All]?: ValueOf<All[Name]> | undefined }

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

/** Where a command line comes from and where what is said goes. */
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

/** What a command is given. How many arguments there are says its usage line, which the frame has checked. */
export interface Context<Values = object, Args = readonly string[]> extends Io {
  readonly args: Args
  readonly values: Values
  readonly isJson: boolean
  /** The server, with its key. Throws where there is none. */
  readonly connect: () => Client
  readonly request: Client['request']
  /** Says what came of it: the value with --json, else the text. */
  readonly print: (value: unknown, text?: string) => void
}

/** Exit code; 0 if it is none. */
type Outcome = number | void

export interface Verb<All = Options> {
  readonly usage: string
  readonly about?: string
  readonly options?: All
  /** The question before something is taken away. It gets --yes with it, and is refused where nobody can be asked. */
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

/** Verbs, whose functions are held to the options that they declare. */
export const defineVerbs = <const All>(verbs: {
  readonly [Name in keyof All]: Verb<All[Name]>
}): { readonly [Name in keyof All]: Verb } =>
  // What each declares was compared with what it reads, above: the frame knows of neither.
  verbs as { readonly [Name in keyof All]: Verb }

/** The same of a command that has no verbs. */
export const defineVerb = <const All extends Options>(verb: Verb<All>): Verb<All> => verb
