import type { ModelErrorCode } from '#contracts/errors.ts'
import { deadlineMs } from './upstream-faults.world.ts'
import {
  call,
  calls,
  chunk,
  counted,
  done,
  event,
  fine,
  fineInOnePiece,
  hangs,
  json,
  noAnswer,
  raw,
  resets,
  responds,
  silence,
  status,
  stream,
  usage,
  type Answer,
  type Piece,
} from './upstream-faults.wire.ts'

/** One thing that an upstream may do to us, and what has to become of it. */
export interface Fault {
  readonly name: string
  readonly answers: readonly Answer[]
  /** The class of the failure; nothing if the run survives. */
  readonly code?: ModelErrorCode
  readonly requests: number
  /** Requests that may have been billed without a count: each is booked in full. Default 0. */
  readonly lost?: number
  /** Virtual milliseconds the run takes; default 0. */
  readonly elapsedMs?: number
  /** Text its reader saw that was not kept. */
  readonly partial?: string
  /** Inputs the tool really ran with. Default none. */
  readonly noted?: readonly unknown[]
  /** Of the tool errors the model was told. */
  readonly told?: readonly string[]
  /** What the run answered. Default `all well`. */
  readonly text?: string
  /** Tokens of replies, as booked; unset where they are estimates. */
  readonly counted?: number
  /** Nobody reads along: the reply is asked for in one piece. */
  readonly isUnwatched?: boolean
}

const thrice = (answer: Answer): Answer[] => [answer, answer, answer]
const text = (content: string): string => chunk({ content })
const rest = chunk({}, 'stop') + usage() + done
const MiB = 1024 * 1024

/** Virtual silence until it is noticed: between one and one and a quarter times 30 s. */
const idleMs = 37_500

const html = { 'content-type': 'text/html' }
const limited = (headers: Record<string, string>): readonly Answer[] => [status(429, headers), fine]

const refusals: readonly Fault[] = [
  {
    name: '429 without Retry-After',
    answers: [status(429), status(429), fine],
    requests: 3,
    elapsedMs: 1_500,
    counted: 110,
  },
  {
    name: '429 for good',
    answers: thrice(status(429)),
    code: 'model_rate_limited',
    requests: 3,
    elapsedMs: 1_500,
  },
  {
    name: '429, Retry-After in seconds',
    answers: limited({ 'retry-after': '3' }),
    requests: 2,
    elapsedMs: 3_000,
    counted: 110,
  },
  {
    name: '429, Retry-After as a date',
    answers: limited({
      'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT',
      date: 'Wed, 21 Oct 2026 07:28:00 GMT',
    }),
    requests: 2,
    elapsedMs: 5_000,
    counted: 110,
  },
  {
    name: '429, Retry-After as a date, without a clock',
    answers: limited({ 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT' }),
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '429, Retry-After in the past',
    answers: limited({
      'retry-after': 'Wed, 21 Oct 2020 07:28:05 GMT',
      date: 'Wed, 21 Oct 2026 07:28:00 GMT',
    }),
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '429, Retry-After of a day',
    answers: thrice(status(429, { 'retry-after': '86400' })),
    code: 'model_rate_limited',
    requests: 3,
    elapsedMs: 40_000,
  },
  {
    name: '429, Retry-After negative',
    answers: limited({ 'retry-after': '-5' }),
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '429, Retry-After past all numbers',
    answers: limited({ 'retry-after': '1e999' }),
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '429, Retry-After in words',
    answers: limited({ 'retry-after': 'soon' }),
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '429, Retry-After zero',
    answers: limited({ 'retry-after': '0' }),
    requests: 2,
    counted: 110,
  },
  {
    name: '429 for lack of credit',
    answers: [status(429, {}, '{"error":{"code":"insufficient_quota","message":"x"}}')],
    code: 'model_rate_limited',
    requests: 1,
  },
  {
    name: '429 with a body that never ends',
    answers: [responds(forever('x'.repeat(100_000)), { status: 429 }), fine],
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  {
    name: '500 with a body that never comes',
    answers: [responds([hangs], { status: 500 }), fine],
    requests: 2,
    elapsedMs: 2_500,
    counted: 110,
  },
  {
    name: '503 with half a body',
    answers: [responds(['{"error":', resets], { status: 503 }), fine],
    requests: 2,
    elapsedMs: 500,
    counted: 110,
  },
  ...[500, 502, 503, 504, 529].flatMap((code): Fault[] => [
    {
      name: `${code}, then well`,
      answers: [status(code), fine],
      requests: 2,
      elapsedMs: 500,
      counted: 110,
    },
    {
      name: `${code} for good`,
      answers: thrice(status(code, html, '<h1>bad</h1>')),
      code: 'model_unavailable',
      requests: 3,
      elapsedMs: 1_500,
    },
  ]),
  ...[401, 403].map((code): Fault => ({
    name: `${code}`,
    answers: [status(code)],
    code: 'model_auth',
    requests: 1,
  })),
  ...[400, 404, 413, 418, 422].map((code): Fault => ({
    name: `${code}`,
    answers: [status(code)],
    code: 'model_refused_request',
    requests: 1,
  })),
  ...[301, 302, 307, 308].map((code): Fault => ({
    name: `${code} to somewhere else`,
    answers: [status(code, { location: 'https://evil.test/' })],
    code: 'model_refused_request',
    requests: 1,
  })),
  {
    name: '304',
    answers: [async () => new Response(null, { status: 304 })],
    code: 'model_refused_request',
    requests: 1,
  },
  { name: '408', answers: [status(408)], code: 'model_timeout', requests: 1, lost: 1 },
]

const broken: readonly Fault[] = [
  {
    name: 'a reset before the headers',
    answers: [noAnswer, fine],
    requests: 2,
    lost: 1,
    elapsedMs: 500,
  },
  {
    name: 'resets before the headers',
    answers: thrice(noAnswer),
    code: 'model_network',
    requests: 3,
    lost: 3,
    elapsedMs: 1_500,
  },
  {
    name: '503, then a reset, then 429',
    answers: [status(503), noAnswer, status(429)],
    code: 'model_rate_limited',
    requests: 3,
    lost: 1,
    elapsedMs: 1_500,
  },
  {
    name: 'a reset after the headers',
    answers: [raw(resets), fine],
    requests: 2,
    lost: 1,
    elapsedMs: 500,
  },
  {
    name: 'a reset in the middle',
    answers: [raw(text('half a '), resets)],
    code: 'model_network',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'a reset within an event',
    answers: [raw(text('half a '), 'data: {"choi', resets)],
    code: 'model_network',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'an end in the middle',
    answers: [raw(text('half a '))],
    code: 'model_network',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'a reset after the finish reason',
    answers: [raw(text('all well'), chunk({}, 'stop'), resets)],
    requests: 1,
  },
  {
    name: 'no [DONE]',
    answers: [raw(text('all well'), chunk({}, 'stop'), usage())],
    requests: 1,
    counted: 110,
  },
  {
    name: '[DONE] without a finish reason',
    answers: [raw(text('half a '), done)],
    code: 'model_network',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: '[DONE] and nothing else',
    answers: [raw(done)],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a half-open stream',
    answers: [raw(text('half a '), hangs)],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: idleMs,
    partial: 'half a ',
  },
  {
    name: 'a half-open stream after the finish reason',
    answers: [raw(text('all well'), chunk({}, 'stop'), hangs)],
    requests: 1,
    elapsedMs: idleMs,
  },
  {
    name: 'a half-open stream after the headers',
    answers: [raw(hangs)],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: deadlineMs,
  },
  {
    name: 'a first byte past the deadline',
    answers: [silence],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: deadlineMs,
  },
  {
    name: 'a drip of text past the deadline',
    answers: [raw(...drip(text('.')))],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: deadlineMs,
    partial: '.'.repeat(11),
  },
  {
    name: 'a drip of comments past the deadline',
    answers: [raw(text('begins'), ...drip(': wait\n\n'))],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: deadlineMs,
    partial: 'begins',
  },
  {
    name: 'a slow stream with comments in between',
    answers: [stream(text('all well'), 25_000, ': wait\n\n', 25_000)],
    requests: 1,
    elapsedMs: 50_000,
    counted: 110,
  },
  {
    name: 'a reset, then silence',
    answers: [noAnswer, silence],
    code: 'model_timeout',
    requests: 2,
    lost: 2,
    elapsedMs: deadlineMs,
  },
]

const garbage: readonly Fault[] = [
  {
    name: 'a garbage chunk first',
    answers: [raw('data: {broken\n\n', rest)],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a garbage chunk in the middle',
    answers: [raw(text('half a '), 'data: nonsense\n\n', rest)],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'HTML with 200',
    answers: [responds(['<html>sign in</html>'], { headers: html })],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'HTML with 200 that never ends',
    answers: [responds(forever('<p>'.repeat(10_000)), { headers: html })],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'HTML called an event stream',
    answers: [raw('<html>sign in</html>')],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  { name: 'an empty body', answers: [raw()], code: 'model_invalid_reply', requests: 1, lost: 1 },
  {
    name: 'the wrong content type',
    answers: [
      responds([text('x'), rest], { headers: { 'content-type': 'application/octet-stream' } }),
    ],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a content type in capitals',
    answers: [
      responds([text('all well'), rest], { headers: { 'content-type': 'Text/Event-Stream' } }),
    ],
    requests: 1,
    counted: 110,
  },
  {
    name: 'JSON where a stream was asked for',
    answers: [fineInOnePiece],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: '204',
    answers: [async () => new Response(null, { status: 204 })],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
  },
  {
    name: 'an error as the first event, then well',
    answers: [raw(event({ error: { code: 502, message: 'x' } })), fine],
    requests: 2,
    lost: 1,
    elapsedMs: 500,
  },
  {
    name: 'an error without a status in the stream',
    answers: [raw(text('half a '), event({ error: { message: 'oops' } }))],
    code: 'model_unavailable',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  ...(
    [
      [429, 'model_rate_limited'],
      [503, 'model_unavailable'],
      [401, 'model_auth'],
      [400, 'model_refused_request'],
    ] as const
  ).map(([code, label]): Fault => ({
    name: `an error ${code} in the middle of the stream`,
    answers: [raw(text('half a '), event({ error: { code, message: 'x' } }), rest)],
    code: label,
    requests: 1,
    lost: 1,
    partial: 'half a ',
  })),
  {
    name: 'an error event in the middle',
    answers: [raw(text('half a '), 'event: error\ndata: {"code":"500"}\n\n')],
    code: 'model_unavailable',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'a choice that is null',
    answers: [raw(text('half a '), event({ choices: [null] }), rest)],
    code: 'model_invalid_reply',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  {
    name: 'chunks that are no objects',
    answers: [
      raw(
        event(null),
        event(5),
        event('"x"'),
        event([]),
        event({ choices: 'x' }),
        event({ choices: [{}] }),
        text('all well'),
        rest,
      ),
    ],
    requests: 1,
    counted: 110,
  },
  {
    name: 'deltas that are no objects',
    answers: [
      raw(
        chunk(null),
        chunk('x'),
        chunk({ content: ['x'] }),
        chunk({ content: 5, tool_calls: 'x' }),
        text('all well'),
        rest,
      ),
    ],
    requests: 1,
    counted: 110,
  },
  {
    name: 'an unknown finish reason',
    answers: [raw(text('all well'), chunk({}, 'banana'), usage(), done)],
    requests: 1,
    counted: 110,
  },
  {
    name: 'a finish reason that is no text',
    answers: [raw(text('half a '), chunk({}, { why: 1 }), done)],
    code: 'model_network',
    requests: 1,
    lost: 1,
    partial: 'half a ',
  },
  { name: '[DONE] twice', answers: [raw(text('all well'), rest, done)], requests: 1, counted: 110 },
  {
    name: 'content after [DONE]',
    answers: [
      raw(text('all well'), rest, text(' NOT'), chunk({ tool_calls: [call('{}')] }, 'tool_calls')),
    ],
    requests: 1,
    counted: 110,
  },
  {
    name: 'silence after [DONE]',
    answers: [raw(text('all well'), rest, hangs)],
    requests: 1,
    counted: 110,
  },
  {
    name: 'invalid UTF-8',
    answers: [
      raw(
        'data: {"choices":[{"delta":{"content":"all ',
        new Uint8Array([0xff, 0xc3, 0x28]),
        ' well"}}]}\n\n',
        rest,
      ),
    ],
    requests: 1,
    text: 'all \ufffd\ufffd( well',
    counted: 110,
  },
  {
    name: 'a character cut in two',
    answers: [
      raw(
        'data: {"choices":[{"delta":{"content":"',
        new Uint8Array([0xe2, 0x82]),
        new Uint8Array([0xac]),
        '"}}]}\n\n',
        rest,
      ),
    ],
    requests: 1,
    text: '€',
    counted: 110,
  },
  {
    name: 'half a surrogate pair',
    answers: [raw('data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n', rest)],
    requests: 1,
    text: '\ud83d',
    counted: 110,
  },
  {
    name: 'bytes one by one, with CRLF',
    answers: [raw(...(text('all well') + rest).replaceAll('\n', '\r\n').split(''))],
    requests: 1,
    counted: 110,
  },
]

const hostile: readonly Fault[] = [
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

const invalid = 'tool_invalid_input'
const ask = (
  name: string,
  args: unknown,
  more: Partial<Fault> = {},
  extra: object = {},
): Fault => ({
  name,
  answers: [calls(call(args, extra)), fine],
  requests: 2,
  told: [invalid],
  counted: 220,
  ...more,
})

const toolCalls: readonly Fault[] = [
  ask('arguments that are broken JSON', '{"text": "a"'),
  ask('arguments that are an array', '["a"]'),
  ask('arguments that are text', '"a"'),
  ask('arguments that are a number', '5'),
  ask('arguments that are null', 'null'),
  ask('arguments of the wrong type', '{"text": 5}'),
  ask('arguments nested 100,000 deep', `{"text":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  ask('arguments nested in objects, broken', '{"a":'.repeat(50_000)),
  ask('arguments with a __proto__', '{"__proto__":{"text":5},"text":"a"}', {
    told: [],
    noted: [JSON.parse('{"__proto__":{"text":5},"text":"a"}')],
  }),
  ask('arguments that are an object already', { text: 'a' }, { told: [], noted: [{}] }),
  ask('no arguments', undefined, { told: [], noted: [{}] }),
  ask(
    'an unknown tool',
    '{}',
    { told: ['tool_not_found'] },
    { function: { name: 'rm_rf', arguments: '{}' } },
  ),
  ask(
    'a tool without a name',
    '{}',
    { told: ['tool_not_found'] },
    { function: { arguments: '{}' } },
  ),
  ask(
    'a tool name of 5 MB',
    '{}',
    { told: ['tool_not_found'] },
    { function: { name: 'x'.repeat(5_000_000), arguments: '{}' } },
  ),
  ask(
    'an id of 5 MB',
    '{"text":"a"}',
    { told: [], noted: [{ text: 'a' }] },
    { id: 'x'.repeat(5_000_000) },
  ),
  {
    name: 'an id that is a number, in pieces',
    answers: [calls(call('{"text":', { id: 5 }), call('"a"}', { id: 5 })), fine],
    requests: 2,
    noted: [{ text: 'a' }],
    counted: 220,
  },
  {
    name: 'duplicate call ids',
    answers: [calls(call('{"text":"a"}'), call('{"text":"b"}', { index: 1 })), fine],
    requests: 2,
    noted: [{ text: 'a' }, { text: 'b' }],
    counted: 220,
  },
  {
    name: 'calls that are no objects',
    answers: [calls(null, 5, 'x', call('{"text":"a"}', { index: 7 })), fine],
    requests: 2,
    told: ['tool_not_found'],
    noted: [{ text: 'a' }],
    counted: 220,
  },
  {
    name: 'a call cut by a reset',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a"')] }), resets)],
    code: 'model_network',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a whole call, cut before the finish reason',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a"}')] }), resets)],
    code: 'model_network',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a whole call, then silence',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a"}')] }), hangs)],
    code: 'model_timeout',
    requests: 1,
    lost: 1,
    elapsedMs: idleMs,
  },
  {
    name: 'a whole call, then an error',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a"}')] }), event({ error: { code: 500 } }))],
    code: 'model_unavailable',
    requests: 1,
    lost: 1,
  },
  {
    name: 'a call cut by its length',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a')] }, 'length'), usage(), done), fine],
    requests: 2,
    told: [invalid],
    counted: 220,
  },
  {
    name: 'a call, then a reset after the finish reason',
    answers: [raw(chunk({ tool_calls: [call('{"text":"a"}')] }, 'tool_calls'), resets), fine],
    requests: 2,
    noted: [{ text: 'a' }],
  },
  {
    name: 'a call, and a reset in the turn after it',
    answers: [calls(call('{"text":"a"}')), noAnswer, fine],
    requests: 3,
    lost: 1,
    elapsedMs: 500,
    noted: [{ text: 'a' }],
  },
]

const bill = (name: string, of: unknown, tokens?: number): Fault => ({
  name: `usage: ${name}`,
  answers: [raw(text('all well'), chunk({}, 'stop'), usage(of), done)],
  requests: 1,
  ...(tokens !== undefined && { counted: tokens }),
})

const bills: readonly Fault[] = [
  bill('as it should be', counted, 110),
  bill('1e18', { prompt_tokens: 1e18, completion_tokens: 1e18 }),
  bill('past exact numbers', '{"prompt_tokens":9007199254740993,"completion_tokens":1}'),
  bill('nine quadrillion', { prompt_tokens: 9e15, completion_tokens: 9e15 }),
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

const one = (name: string, answers: readonly Answer[], more: Partial<Fault> = {}): Fault => ({
  name: `in one piece: ${name}`,
  answers,
  requests: answers.length,
  isUnwatched: true,
  ...more,
})
const bad: Partial<Fault> = { code: 'model_invalid_reply', lost: 1 }

const inOnePiece: readonly Fault[] = [
  one('well', [fineInOnePiece], { counted: 110 }),
  one('429 with Retry-After', [status(429, { 'retry-after': '2' }), fineInOnePiece], {
    elapsedMs: 2_000,
    counted: 110,
  }),
  one('a reset before the headers', [noAnswer, fineInOnePiece], { lost: 1, elapsedMs: 500 }),
  one(
    'a reset in the body',
    [
      responds(['{"choices":', resets], { headers: { 'content-type': 'application/json' } }),
      fineInOnePiece,
    ],
    { lost: 1, elapsedMs: 500 },
  ),
  one('a body that ends early', [json('{"choices":')], bad),
  one(
    'a body that never comes',
    [responds([hangs], { headers: { 'content-type': 'application/json' } })],
    { code: 'model_timeout', lost: 1, elapsedMs: deadlineMs },
  ),
  one(
    'a body without an end',
    [responds(forever(' '.repeat(MiB)), { headers: { 'content-type': 'application/json' } })],
    bad,
  ),
  one('an empty body', [json('')], bad),
  one('204', [async () => new Response(null, { status: 204 })], bad),
  one('HTML', [responds(['<html>'], { headers: html })], bad),
  one('an event stream', [fine], bad),
  one('null', [json('null')], bad),
  one('a list', [json('[]')], bad),
  one('text', [json('"x"')], bad),
  one('no choices', [json({ choices: [] })], bad),
  one('a choice that is null', [json({ choices: [null] })], bad),
  one(
    'a choice without a message',
    [json({ choices: [{ finish_reason: 'stop' }], usage: counted })],
    { text: '', counted: 110 },
  ),
  one('an error with 200', [json({ error: { code: 503, message: 'x' } }), fineInOnePiece], {
    lost: 1,
    elapsedMs: 500,
  }),
  one('an error 400 with 200', [json({ error: { code: 400, message: 'x' } })], {
    code: 'model_refused_request',
    lost: 1,
  }),
  one(
    'broken arguments',
    [
      json({
        choices: [{ message: { tool_calls: [call('{"text"')] }, finish_reason: 'tool_calls' }],
        usage: counted,
      }),
      fineInOnePiece,
    ],
    { told: [invalid], counted: 220 },
  ),
  one(
    'arguments of 5 MB',
    [
      json({
        choices: [
          { message: { tool_calls: [call('x'.repeat(5_000_000))] }, finish_reason: 'tool_calls' },
        ],
      }),
    ],
    bad,
  ),
  one(
    'text of 5 MB',
    [json({ choices: [{ message: { content: 'x'.repeat(5_000_000) }, finish_reason: 'stop' }] })],
    bad,
  ),
]

export const faults: Readonly<Record<string, readonly Fault[]>> = {
  'F12: refused': refusals,
  'F13: broken off': broken,
  'F14: garbage': garbage,
  'F14: tool calls': toolCalls,
  'A7: hostile sizes': hostile,
  'T19: bills': bills,
  'F12–F14: unwatched': inOnePiece,
}

function* forever(piece: Piece): Generator<Piece> {
  for (;;) yield piece
}

function* forEach(count: number, make: (index: number) => Piece): Generator<Piece> {
  for (let index = 0; index < count; index += 1) yield make(index)
}

/** A piece every five seconds, for two minutes. */
function drip(piece: string): Piece[] {
  return Array.from({ length: 24 }, () => [5_000, piece] as const).flat()
}
