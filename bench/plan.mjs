// The steps of the benchmark and their counts: the same for every system.
import { createRandom } from './load.mjs'

export const isQuick = process.argv.includes('--quick')
export const seed = Number(process.argv.find((text) => text.startsWith('--seed='))?.slice(7) ?? 1)
export const counts = isQuick
  ? {
      warmups: 3,
      rounds: 15,
      slowRounds: 5,
      cpuBlocks: 3,
      starts: 2,
      passes: 1,
      sessions: 16,
      runs: 5,
    }
  : {
      warmups: 10,
      rounds: 100,
      slowRounds: 30,
      cpuBlocks: 12,
      starts: 7,
      passes: 3,
      sessions: 64,
      runs: 10,
    }

export const plain = { scenario: 'plain', task: 'bench plain 0' }
const stream = { scenario: 'stream', task: 'bench plain 0', stream: true }
/** One session from its first message on: the same steps for all, so that they meet the same history. */
export const steps = [
  { scenario: 'first', task: 'bench plain 0' },
  plain,
  plain,
  stream,
  stream,
  { scenario: 'tool', task: 'bench kv 1' },
  { scenario: 'agent', task: 'bench agent 1' },
  { scenario: 'tools10', task: 'bench kv 10' },
]
export const slowSteps = [{ ...plain, scenario: 'first' }, plain, plain, stream, stream]
export const random = createRandom(seed)
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
