// An agent in a process of your own, without a deployment, a network or a key: node agent.mjs "your message"
// It needs the package: npm install isola-<version>.tgz (docs/contributing.md, "The command as a package").
import { Agent } from 'isola/agent'

const clock = {
  name: 'clock',
  description: 'Tells the time of a city.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string', minLength: 1 } },
    required: ['city'],
    additionalProperties: false,
  },
  // The input fits the schema; `context.signal` fires when the run is stopped or its time is over.
  execute: async ({ city }) => ({ ok: true, output: `It is noon in ${city}.` }),
}

// A model by rules. One with a network sends `request.messages` and `request.tools` to its server in `generate`.
const model = {
  id: 'rules',
  select: (name) => ({ provider: 'rules', model: name ?? 'rules', substituted: false }),
  // What a call may cost at most: so much is reserved before it is made.
  estimate: () => ({ tokens: 1_000, costNanoUsd: 0 }),
  generate: async ({ messages }, { onSent, onBegun, onDelta }) => {
    onSent()
    onBegun()
    const last = messages.at(-1)
    const text = last?.role === 'tool' ? String(last.output) : ''
    if (text) onDelta(text)
    return {
      text,
      toolCalls: text ? [] : [{ id: 'call_1', name: 'clock', input: { city: last?.text } }],
      finishReason: text ? 'stop' : 'tool_calls',
      usage: { inputTokens: 10, outputTokens: 10, costNanoUsd: 0, priced: true, estimated: false },
      provider: 'rules',
      model: 'rules',
    }
  },
}

const agent = new Agent({
  id: 'time-keeper',
  taskPrompt: 'You tell the time.',
  tools: [clock],
  modelProviders: [model],
  maxSteps: 4,
})
agent.on('tool', ({ data }) => console.log(`${data.tool} was called`))
const { state, result, usage } = await agent.run(process.argv[2] ?? 'Bern')
console.log(`${state}: ${result} (${usage.modelCalls} model calls)`)
