import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { callJson, type Answer, type SseEvent } from '../fakes/client.ts'
import { responseProblems } from '../fakes/open-responses-schema.ts'
import type { UpstreamRequest } from '../fakes/upstream.ts'
import type { Fault } from './upstream-faults.fault.ts'
import { faults } from './upstream-faults.table.ts'
import * as wire from './upstream-faults.wire.ts'

// docs/reliability.md F12–F14 and docs/security.md G6 through `/v1`, a file for each surface (hundreds of objects of
// one file slow the test runtime down): what the kernel makes of each fault is shown in test/faults/upstream-faults.test.ts, in virtual
// time; here is what a client sees of it, in the books and on the record.

const { setTimeout: setTimer } = globalThis

/** Waits are shorter: those for silence most, since a slow machine must not look like one. */
export function hurry({ elapsedMs = 0 }: Fault): void {
  const factor = elapsedMs >= 30_000 ? 100 : 20
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) =>
    setTimer(work, ms / factor)) as typeof setTimeout)
}

const sleep: wire.Sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const isReviewer = ({ messages }: UpstreamRequest) =>
  String(messages[0]?.content).includes('review') &&
  !String(messages[0]?.content).includes('Available tools')
const json = (message: object) =>
  wire.json({
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: wire.counted,
  })
const askReviewer = json({
  tool_calls: [
    { id: 'c1', function: { name: 'code-reviewer__run', arguments: '{"task":"look at it"}' } },
  ],
})
const goOn = json({ content: 'I went on.' })

/** The model server: the fault is what each model does to one agent, the agent above that one is answered well. */
export function withFault({ answers }: Fault, by: 'agent' | 'sub-agent') {
  const counts = new Map<string, number>()
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_input, init = {}) => {
    const body: UpstreamRequest = await new Response(init.body).json()
    const isAbove = by === 'sub-agent' && !isReviewer(body)
    const ofParent = body.messages.at(-1)?.role === 'tool' ? goOn : askReviewer
    const before = counts.get(body.model) ?? 0
    const answer = isAbove ? ofParent : answers[before]
    if (!isAbove) counts.set(body.model, before + 1)
    if (!answer) throw new Error('the script is over')
    return answer(init.signal ?? new AbortController().signal, sleep)
  })
  return () => [...counts.values()]
}

let count = 0
const dayTokens = 50_000_000
/** A new principal with a day of its own, and a trace to find its run by. */
export async function someone() {
  count += 1
  const principal = `p${count}`
  const { key } = await callJson('/api/operator/keys', {
    json: { principal, role: 'user', limits: { dailyTokens: dayTokens } },
  })
  const trace = count.toString(16).padStart(32, 'f')
  const headers = {
    authorization: `Bearer ${key}`,
    traceparent: `00-${trace}-00f067aa0ba902b7-01`,
  }
  return { principal, trace, headers }
}
type Someone = Awaited<ReturnType<typeof someone>>

export const request = { model: 'orchestrator', input: 'go' }
export const endedOf = (events: readonly SseEvent[]): Answer =>
  events.findLast(({ data }) => data.response)?.data.response
export const pollResponse = (id: string, headers: Someone['headers']): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const response = await callJson(`/v1/responses/${id}`, { headers })
      expect(response.status).not.toMatch(/queued|in_progress/)
      return response
    },
    { timeout: 60_000, interval: 20 },
  )

export async function recordOf({ trace }: Someone) {
  const { results } = await env.DB.prepare(
    'SELECT type, data FROM audit_events WHERE trace = ? ORDER BY id',
  )
    .bind(trace)
    .all<{ type: string; data: string }>()
  return results.map(({ type, data }) => ({ type, data: JSON.parse(data) as JsonObject }))
}
export const sum = (values: readonly unknown[]) =>
  values.reduce<number>((total, value) => total + Number(value), 0)

/** Every request is on the record once, no run keeps a reservation, and the day is charged what the record says. */
export async function expectSettled(who: Someone, requests: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const usage = await callJson(`/api/operator/usage?principal=${who.principal}`)
      // A session that is kept may hold a piece for its next run: that is no run's.
      expect(usage).toMatchObject({ openRuns: 0 })
      const record = await recordOf(who)
      const called = record.filter(({ type }) => type === 'model_called')
      const failed = record.filter(({ type }) => type === 'model_failed')
      expect(called.length + failed.length).toBe(requests)
      const booked = sum(failed.map(({ data }) => data['bookedTokens']))
      const counted = called.map(
        ({ data }) => Number(data['inputTokens']) + Number(data['outputTokens']),
      )
      expect(usage.settled.tokens).toBe(booked + sum(counted))
    },
    { timeout: 60_000, interval: 50 },
  )
}

/** A reader that is as slow as that has nothing to do with what a run is read by. */
const inRealTime = new Set(['a slow stream with comments in between'])
const isTimed = ({ name }: Fault) => inRealTime.has(name) || name.startsWith('a drip of ')
const groups = [
  'F12: refused',
  'F13: broken off',
  'F14: garbage',
  'A7: hostile sizes',
  'T19: bills',
]
export const streamed = groups
  .flatMap((group) => faults[group] ?? [])
  .filter((fault) => !isTimed(fault))
export const inOnePiece = [
  ...(faults['F12–F14: unwatched'] ?? []).filter(({ told, noted }) => !told && !noted),
  ...(faults['F12: refused'] ?? []).map((fault) => ({
    ...fault,
    answers: fault.answers.map((one) => (one === wire.fine ? wire.fineInOnePiece : one)),
  })),
]
/** One fault of each outcome: these surfaces run the same code as the two that meet them all. */
export const oneOfEach = (list: readonly Fault[]) => [
  ...new Map(
    list.toReversed().map((fault) => {
      const { code, requests, lost, partial } = fault
      return [JSON.stringify([code, requests, lost, partial !== undefined]), fault] as const
    }),
  ).values(),
]
export const named = (list: readonly Fault[]) => list.map((fault) => [fault.name, fault] as const)

const textOf = ({ output }: Answer) =>
  output
    .map(({ content = [] }: Answer) => content.map(({ text }: Answer) => text))
    .flat(2)
    .join('')
export function expectAsLabelled(fault: Fault, response: Answer): void {
  expect(responseProblems('ResponseResource', response)).toEqual([])
  expect([response.status, response.error?.code]).toEqual(
    fault.code ? ['failed', fault.code] : ['completed', undefined],
  )
  expect(response.error?.message ?? '').not.toMatch(/upstream words|sign in/)
  if (!fault.code) expect(textOf(response)).toBe(fault.text ?? 'all well')
}
