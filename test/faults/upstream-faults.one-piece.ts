import { MiB, html, forever, type Fault, invalid } from './upstream-faults.fault.ts'
import { deadlineMs } from './upstream-faults.world.ts'
import {
  type Answer,
  resets,
  hangs,
  responds,
  status,
  noAnswer,
  json,
  counted,
  fine,
  fineInOnePiece,
  call,
} from './upstream-faults.wire.ts'

const one = (name: string, answers: readonly Answer[], more: Partial<Fault> = {}): Fault => ({
  name: `in one piece: ${name}`,
  answers,
  requests: answers.length,
  isUnwatched: true,
  ...more,
})
const bad: Partial<Fault> = { code: 'model_invalid_reply', lost: 1 }

export const inOnePiece: readonly Fault[] = [
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
  one('an event stream', [fine], { counted: 110 }),
  one('null', [json('null')], bad),
  one('a list', [json('[]')], bad),
  one('text', [json('"x"')], bad),
  one('no choices', [json({ choices: [] })], bad),
  one('a choice that is null', [json({ choices: [null] })], bad),
  one(
    'a choice without a message',
    [json({ choices: [{ finish_reason: 'stop' }], usage: counted }), fineInOnePiece],
    { lost: 1, elapsedMs: 500 },
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
    'an error that is null',
    [
      json({
        error: null,
        choices: [{ message: { content: 'all well' }, finish_reason: 'stop' }],
        usage: counted,
      }),
    ],
    { counted: 110 },
  ),
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
