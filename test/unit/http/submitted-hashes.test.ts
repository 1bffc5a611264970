import { describe, expect, it } from 'vitest'
import type { Submission } from '#runtime/session/types/submission.ts'
import { bodyHashOf } from '../../../src/runtime/session/runs/admission.ts'
import { createFakeApp, testRun, testSession } from '../../fakes/http-deps.ts'
import { sha256 } from '../../fakes/kernel.ts'

const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object' } }
const previous = `resp_${testSession.slice(4)}${testRun.slice(4)}`
const schema = { name: 'answer', schema: { type: 'object' } }

/** The hash that a session keeps of what a request was submitted as. */
async function hashOf(path: string, json: object, headers: Record<string, string> = {}) {
  const { send, calls } = createFakeApp()
  await send(path, { json, headers: { 'idempotency-key': 'k1', ...headers } })
  const methods = ['submit', 'run', 'runStream', 'compact']
  const call = calls.find(({ method }) => methods.includes(method))!
  // As a session takes it in: what it settles itself comes last.
  const {
    agent,
    mustExist: _must,
    protocol: _protocol,
    ...rest
  } = call.args[1] as Record<string, unknown>
  return bodyHashOf({ ...rest, agent: agent ?? 'code-reviewer' } as unknown as Submission, sha256)
}

// They stay: a retry after an upgrade joins its run.
describe('what an idempotency key stands for', () => {
  it.each<[string, string, object, Record<string, string>]>([
    [
      'e73ab97560e833444c9a926e2d1ffa19968614d44cc1ede6376865f963023718',
      '/v1/chat/completions',
      {
        model: 'scripted/one',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'go' },
        ],
        temperature: 0.5,
        top_p: 1,
        max_tokens: 9,
        stop: 'END',
        seed: 1,
        tools: [{ type: 'function', function: tool }],
        tool_choice: 'required',
        parallel_tool_calls: false,
        response_format: { type: 'json_schema', json_schema: schema },
      },
      {},
    ],
    [
      '5a3f77bad18a5d3e399206bc4f69ba5caa250bc5db61d146ffcc047459116f67',
      '/v1/chat/completions',
      { model: 'orchestrator', messages: [{ role: 'user', content: 'go' }], stream: true },
      { 'x-isola-session': 'mine' },
    ],
    [
      'f83cb635c85b798c0a0557c41bf999b0a14261edbe9b398170ff814a0ff3940f',
      '/v1/responses',
      {
        model: 'scripted/one',
        instructions: 'Be brief.',
        input: [
          { role: 'developer', content: 'In French.' },
          { role: 'user', content: 'go' },
        ],
        temperature: 0.5,
        top_p: 1,
        max_output_tokens: 9,
        max_tool_calls: 3,
        store: false,
        tools: [{ type: 'function', ...tool }],
        tool_choice: { type: 'function', name: 'look' },
        parallel_tool_calls: false,
        text: { format: { type: 'json_schema', ...schema } },
      },
      {},
    ],
    [
      'fe0423d96858ab91668cbb44d069b274202212339084aa6a4883aa6b27be9f58',
      '/v1/responses',
      { model: 'orchestrator', input: 'go', previous_response_id: previous, background: true },
      {},
    ],
    [
      'bd9f78937f553ab98853df9e07ce1dcaac6c2d19ed0e7ff3b3f92216b8bf0ce4',
      '/v1/responses/compact',
      { model: 'orchestrator', input: 'go', instructions: 'Be brief.' },
      {},
    ],
    [
      'eeefb13e0a72d2d561d0472b4d69a8da6b6749a475957fd1afb5639d122b2a80',
      `/api/sessions/${testSession}/runs`,
      {
        task: 'go',
        context: 'this',
        model: 'scripted/one',
        parameters: { temperature: 0, stop: ['END'], timeoutMs: 5 },
        limits: { maxTokens: 5, maxCostUsd: 1 },
        requireApproval: ['kv__*'],
        clientTools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
        mayAsk: true,
      },
      {},
    ],
  ])('has the hash %s for a request to %s', async (hash, path, json, headers) => {
    expect(await hashOf(path, json, headers)).toBe(hash)
  })
})
