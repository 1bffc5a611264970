import { expect, it } from 'vitest'
import { parseManifest, toLimits } from '../../../src/runtime/catalog/types/permit.ts'
import { toParameters } from '../../../src/features/agents/agent-spec.ts'
import { createWorld, runOn } from './upstreams.ts'

it("Y12: an agent's model, parameters and cost ceiling reach the request", async () => {
  const { agent } = parseManifest({
    id: 'poet',
    name: 'Poet',
    version: '1.0.0',
    description: 'Writes.',
    agent: {
      integration_mode: 'tool',
      model: 'first/verse-1',
      instructions: 'prompt.md',
      parameters: {
        temperature: 0.3,
        top_p: 0.8,
        max_output_tokens: 77,
        seed: 5,
        stop: ['END'],
        timeout_ms: 1_200,
      },
      limits: { max_cost_usd: 0.001 },
    },
  })
  if (!agent) throw new Error('there is no agent')
  const cheap = { inputUsdPerMillion: 0.1, outputUsdPerMillion: 0.1 }
  const price = { inputUsdPerMillion: 100, outputUsdPerMillion: 100 }
  const world = createWorld(
    { first: [{ status: 503 }], second: [{ text: 'cheaper' }] },
    {
      defaultModel: 'second/prose',
      prices: { 'verse-1': cheap, prose: cheap },
    },
  )
  const options = { model: agent.model, parameters: toParameters(agent.parameters) }
  const { result } = await runOn(world, { ...options, limits: toLimits(agent.limits) })
  expect(world.bodies[0]).toMatchObject({
    model: 'verse-1',
    temperature: 0.3,
    top_p: 0.8,
    max_tokens: 77,
    seed: 5,
    stop: ['END'],
  })
  // The waits between the tries used up its time: no second model was asked.
  expect([result.error?.code, world.asked.length]).toEqual(['model_unavailable', 3])
  const dear = createWorld(
    { second: [{ text: 'cheaper' }] },
    {
      defaultModel: 'second/prose',
      prices: { prose: cheap },
      servers: [
        { id: 'first', baseUrl: 'http://first/v1', models: [{ name: 'verse-1', price }] },
        { id: 'second', baseUrl: 'http://second/v1', models: [] },
      ],
    },
  )
  const within = await runOn(dear, { ...options, limits: toLimits(agent.limits) })
  expect(within.result.result).toBe('cheaper')
})
