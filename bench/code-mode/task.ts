// How a task is written down.
import { byId, data } from './shop-data.ts'

export type Call = readonly [tool: string, input: object]

export interface WrittenTask {
  readonly kind: 'one call' | 'a chain' | 'a loop' | 'a join'
  readonly task: string
  /** Turns of calls. */
  readonly calls: readonly (readonly Call[])[]
  /** Queries of `isola__find` before the code is written. */
  readonly queries: readonly string[]
  readonly code: string
  /** The value that the code has to return. */
  readonly returns: unknown
  /** The model's final text, in both ways. */
  readonly answer: string
}

const { customers } = data

export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
export const customerOf = (id: string) => byId(customers, id)
export const get = (what: string, id: string): Call => [`shop__get_${what}`, { id }]
