import { describe, expect, test } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { orchestratorLimits } from '../../../src/features/agents/types.ts'
import { unlimited, type Limits } from '#contracts/lease.ts'
import { parseManifest } from '../../../src/runtime/catalog/types/permit.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import {
  registerInstructions,
  toAgentSpec,
  withOptions,
} from '../../../src/features/agents/agent-spec.ts'
import { createPromptStore } from '../../../src/features/memory/prompt-store.ts'

function specOf(
  agentSection: Record<string, unknown>,
  { lease, ...options }: RunOptions & { readonly lease?: Limits } = {},
  text = 'You review {{ what }}.',
) {
  const manifest = parseManifest({
    id: 'rev',
    name: 'Reviewer',
    version: '1.2.3',
    description: 'Reviews.',
    agent: {
      integration_mode: 'tool',
      model: 'openai/x',
      instructions: 'prompts/p.md',
      variables: { what: 'code' },
      ...agentSection,
    },
  })
  const prompts = createPromptStore()
  const source = { manifest, agent: manifest.agent!, files: { 'prompts/p.md': text } }
  registerInstructions(source, prompts)
  return withOptions(toAgentSpec(source, prompts), options, lease)
}

describe('a manifest agent', () => {
  test('P29: says when its context is compacted, and to what; what makes no sense is refused', () => {
    expect(specOf({}).context).toBeUndefined()
    expect(specOf({ context: { start: 0.7 } }).context).toEqual({ start: 0.7, target: 0.5 })
    expect(() => specOf({ context: { start: 0.5, target: 0.45 } })).toThrow(
      'agent.context.target: target must be at least 0.1 below start',
    )
    expect(() => specOf({ context: { begin: 0.5 } })).toThrow('begin')
  })

  test('Y12: gets its instructions rendered, its model and its parameters', () => {
    expect(
      specOf({
        parameters: {
          temperature: 0,
          top_p: 0.5,
          max_output_tokens: 7,
          seed: 1,
          stop: ['x'],
          timeout_ms: 9,
        },
      }),
    ).toEqual({
      id: 'rev',
      name: 'Reviewer',
      description: 'Reviews.',
      instructions: 'You review code.',
      model: 'openai/x',
      parameters: {
        temperature: 0,
        topP: 0.5,
        maxOutputTokens: 7,
        seed: 1,
        stop: ['x'],
        timeoutMs: 9,
      },
      limits: defaultAgentLimits,
      provenance: { template: 'rev/instructions', version: '1.2.3' },
    })
  })

  test('Y13: limits that are left out are 10 turns, 50,000 tokens and two minutes', () => {
    expect(specOf({}).limits).toMatchObject({
      maxTurns: 10,
      maxTokens: 50_000,
      maxTimeMs: 120_000,
      maxCostNanoUsd: unlimited,
      maxDepth: 4,
      maxConcurrency: 8,
    })
  })

  test('limits are in our units; dollars are exact billionths', () => {
    const limits = {
      max_turns: 2,
      max_tokens_per_invocation: 3,
      time_budget_ms: 4,
      max_cost_usd: 0.07,
      max_tool_calls: 0,
      max_depth: 1,
      max_concurrency: 1,
      max_children: 0,
    }
    expect(specOf({ limits }).limits).toEqual({
      maxTurns: 2,
      maxTokens: 3,
      maxTimeMs: 4,
      maxCostNanoUsd: 70_000_000,
      maxToolCalls: 0,
      maxDepth: 1,
      maxConcurrency: 1,
      maxChildren: 0,
    })
  })

  test.each([
    [
      'a file that is not there',
      { instructions: 'prompts/other.md' },
      /no file prompts\/other\.md/,
    ],
    ['a variable without a value', { variables: {} }, /unknown variables: what/],
    ['a value without a variable', { variables: { what: 'a', typo: 'b' } }, /does not use: typo/],
  ])('%s shows when the plugin loads', (_what, section, message) => {
    expect(() => specOf(section)).toThrow(message)
  })
})

describe('overrides', () => {
  test('Y13: a lease narrows every limit and widens none', () => {
    const lease = { ...orchestratorLimits, maxTurns: 3, maxDepth: 1, maxCostNanoUsd: 5 }
    expect(specOf({}, { lease }).limits).toEqual({
      ...defaultAgentLimits,
      maxTurns: 3,
      maxDepth: 1,
      maxCostNanoUsd: 5,
    })
  })

  test("a client's format for the text passes, unless the agent has a schema of its own", () => {
    const responseFormat = { type: 'json_object' } as const
    const overrides = { parameters: { responseFormat, toolChoice: 'required' } } as const
    expect(specOf({}, overrides).parameters).toEqual(overrides.parameters)
    expect(specOf({ output_schema: { type: 'object' } }, overrides).parameters).toEqual({
      toolChoice: 'required',
    })
  })

  test("a client's sampling passes, its output length and timeout only within the agent's caps", () => {
    const parameters = { temperature: 1, maxOutputTokens: 100, timeoutMs: 99 }
    expect(
      specOf(
        { parameters: { temperature: 0, max_output_tokens: 50, timeout_ms: 10, seed: 4 } },
        { parameters },
      ).parameters,
    ).toEqual({
      temperature: 1,
      maxOutputTokens: 50,
      timeoutMs: 10,
      seed: 4,
    })
    expect(specOf({}, { parameters }).parameters.maxOutputTokens).toBe(100)
    expect(
      specOf({}, { parameters: { maxOutputTokens: 9_000_000 } }).parameters.maxOutputTokens,
    ).toBe(50_000)
  })

  test('client instructions come after ours, labelled', () => {
    expect(specOf({}, { clientInstructions: ' Be brief. {{ what }} ' }).instructions).toBe(
      'You review code.\n\nInstructions from the client (they rank below the above):\nBe brief. {{ what }}',
    )
    expect(specOf({}, { clientInstructions: '  ' }).instructions).toBe('You review code.')
  })

  test('Y29: a model may be named for one session', () =>
    expect(specOf({}, { model: 'other/y' }).model).toBe('other/y'))
})
