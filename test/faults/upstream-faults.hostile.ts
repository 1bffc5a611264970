import { text, rest, MiB, forever, forEach, type Fault } from './upstream-faults.fault.ts'
import {
  responds,
  event,
  done,
  chunk,
  counted,
  usage,
  raw,
  call,
  calls,
} from './upstream-faults.wire.ts'

export const hostile: readonly Fault[] = [
  {
    name: 'text without an end',
    answers: [responds(forever(text('x'.repeat(64 * 1024))))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
    partial: 'x'.repeat(4 * MiB),
  },
  {
    name: 'one event without an end',
    answers: [responds(forever('x'.repeat(64 * 1024)))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'comments without an end',
    answers: [responds(forever(': wait\n\n'.repeat(8_192)))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'empty chunks without an end',
    answers: [responds(forever(event({ pad: 'x'.repeat(MiB), choices: [{}] })))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'arguments of 5 MB',
    answers: [calls(call(`{"text":"${'x'.repeat(5_000_000)}"}`))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'arguments without an end',
    answers: [responds(forever(chunk({ tool_calls: [call('x'.repeat(64 * 1024))] })))],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'large arguments of many calls',
    answers: [
      responds(
        forEach(20, (n) =>
          chunk({ tool_calls: [call('x'.repeat(500_000), { index: n, id: `c${n}` })] }),
        ),
      ),
    ],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'calls without an end',
    answers: [
      responds(forEach(5_000, (n) => chunk({ tool_calls: [call('', { index: n, id: `c${n}` })] }))),
    ],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
]

const bill = (name: string, of: unknown, tokens?: number): Fault => ({
  name: `usage: ${name}`,
  answers: [raw(text('all well'), chunk({}, 'stop'), usage(of), done)],
  requests: 1,
  ...(tokens !== undefined && { counted: tokens }),
})

export const bills: readonly Fault[] = [
  bill('as it should be', counted, 110),
  bill('1e18', { prompt_tokens: 1e18, completion_tokens: 1e18 }),
  bill('past exact numbers', '{"prompt_tokens":9007199254740993,"completion_tokens":1}'),
  bill('nine quadrillion', { prompt_tokens: 9e15, completion_tokens: 9e15 }),
  bill('more than any model takes', { prompt_tokens: 2e7, completion_tokens: 2e7 }),
  bill('negative', { prompt_tokens: -5, completion_tokens: -1e9 }),
  bill('one half negative', { prompt_tokens: 100, completion_tokens: -5 }),
  bill('text', { prompt_tokens: '100', completion_tokens: 'NaN' }),
  bill('fractions', { prompt_tokens: 1.5, completion_tokens: 0.1 }),
  bill('nothing for something', { prompt_tokens: 0, completion_tokens: 0 }),
  bill('null', null),
  bill('a list', [1, 2]),
  bill('half of it', { prompt_tokens: 100 }),
  {
    ...bill('NaN, which is no JSON', counted),
    answers: [raw(text('half a '), 'data: {"choices":[],"usage":{"prompt_tokens":NaN}}\n\n', rest)],
    code: 'model_invalid_reply',
    lost: 1,
    partial: 'half a ',
  },
]
