import { thrice, html, forever, type Fault } from './upstream-faults.fault.ts'
import { type Answer, resets, hangs, responds, status, fine } from './upstream-faults.wire.ts'

const limited = (headers: Record<string, string>): readonly Answer[] => [status(429, headers), fine]

export const refusals: readonly Fault[] = [
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
  // The request is too large for a proxy on the way, and so short a conversation has nothing that can leave.
  { name: '413', answers: [status(413)], code: 'model_context_exceeded', requests: 1 },
  ...[400, 404, 418, 422].map((code): Fault => ({
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
