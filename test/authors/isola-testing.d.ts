/** `isola/testing`: what the tests of a plugin call. They run once for each host, in workerd. */
import type { HookAnswer, HookEvent, JsonValue } from '../../src/contracts/plugin.ts'

type Input = Readonly<Record<string, JsonValue>>

export interface CallOptions {
  /** What the network answers; each request has passed the grants of plugin.yaml. Without it there is none. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** What is answered to what a call asks (`request`), by its keys; a question without an answer fails the test. */
  readonly answers?: Input
}

/** Inputs that make a tool do each thing; what it cannot do is left out. */
export interface Conformance {
  readonly succeed: Input
  /** Refused by the input schema. */
  readonly invalid: Input
  /** Each makes the tool fail by itself. */
  readonly fail?: readonly Input[]
  /** Never answers unless it is stopped. */
  readonly hang?: Input
  /** Answers more than a model should read at once. */
  readonly long?: Input
}

export declare const plugin: {
  /** What a tool answered; rejects with what it failed with. State lasts from call to call of one test file. */
  readonly call: (tool: string, input: Input, options?: CallOptions) => Promise<JsonValue>
  /** What the agent's own code answered. */
  readonly invoke: (
    request: { readonly task: string; readonly context?: string },
    options?: CallOptions,
  ) => Promise<string>
  /** What a hook answered to one event. */
  readonly hook: (
    on: string,
    event: Partial<Omit<HookEvent, 'on'>>,
    options?: CallOptions,
  ) => Promise<HookAnswer>
  /** Puts a tool through the battery that every tool passes: cancel, timeout, leases, traces, oversize, replay. */
  readonly conforms: (tool: string, inputs: Conformance, options?: CallOptions) => void
}
