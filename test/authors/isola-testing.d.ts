/** `isola/testing`: what the tests of a plugin call. They run once for each host, in workerd. */
import type { HookAnswer, HookEvent, JsonValue } from 'isola/plugin'

type Input = Readonly<Record<string, JsonValue>>

export interface CallOptions {
  /** What the network answers; each request has passed the grants of plugin.yaml. Without it there is none. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Answers to questions of a call (`request`), by their keys; a question without an answer fails the test. */
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

type Body = () => unknown
interface Test {
  (name: string, body: Body, timeoutMs?: number): void
  readonly only: Test
  readonly skip: Test
  readonly todo: (name: string) => void
  readonly each: <T>(
    cases: readonly T[],
  ) => (name: string, body: (...given: any[]) => unknown) => void // oxlint-disable-line typescript/no-explicit-any -- by the case
}

/** The assertions that tests of plugins need most; at run time it is vitest's `expect`, with all of them. */
export interface Matchers<R = void> {
  readonly not: Matchers<R>
  readonly resolves: Matchers<Promise<void>>
  readonly rejects: Matchers<Promise<void>>
  readonly toBe: (expected: unknown) => R
  readonly toEqual: (expected: unknown) => R
  readonly toStrictEqual: (expected: unknown) => R
  readonly toMatchObject: (expected: object) => R
  readonly toMatch: (expected: string | RegExp) => R
  readonly toContain: (expected: unknown) => R
  readonly toContainEqual: (expected: unknown) => R
  readonly toHaveLength: (expected: number) => R
  readonly toHaveProperty: (path: string | readonly (string | number)[], value?: unknown) => R
  readonly toBeDefined: () => R
  readonly toBeUndefined: () => R
  readonly toBeNull: () => R
  readonly toBeTruthy: () => R
  readonly toBeFalsy: () => R
  readonly toBeGreaterThan: (expected: number) => R
  readonly toBeGreaterThanOrEqual: (expected: number) => R
  readonly toBeLessThan: (expected: number) => R
  readonly toBeLessThanOrEqual: (expected: number) => R
  readonly toBeCloseTo: (expected: number, digits?: number) => R
  readonly toThrow: (expected?: string | RegExp) => R
}

interface Patterns {
  readonly objectContaining: (expected: object) => unknown
  readonly arrayContaining: (expected: readonly unknown[]) => unknown
  readonly stringContaining: (expected: string) => unknown
  readonly stringMatching: (expected: string | RegExp) => unknown
}

export declare const it: Test
export declare const test: Test
export declare const describe: (name: string, body: () => void) => void
export declare const beforeAll: (body: Body) => void
export declare const beforeEach: (body: Body) => void
export declare const afterAll: (body: Body) => void
export declare const afterEach: (body: Body) => void
export declare const expect: Patterns & {
  (value: unknown, message?: string): Matchers
  readonly any: (type: unknown) => unknown
  readonly anything: () => unknown
  readonly not: Patterns
}
