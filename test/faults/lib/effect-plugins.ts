// A plugin whose tools differ only in what they declare, and an agent that uses them within a tight budget.
import { env as bindings } from 'cloudflare:workers'
import type { BundledPlugin } from '../../../src/features/plugins/types/manifest.ts'
import type { Plugin } from '../../../src/features/plugins/types/plugin.ts'

const inputSchema = {
  type: 'object',
  properties: {
    url: { type: 'string' },
    chars: { type: 'integer' },
  },
  required: ['url'],
  additionalProperties: false,
}

const tool = (name: string, annotations: object, timeoutMs = 15_000) => ({
  name,
  description: `Asks the harness's server (${name}).`,
  annotations,
  timeout_ms: timeoutMs,
  input_schema: inputSchema,
})

const methods = ['GET', 'POST']
const { FAULTS_EFFECTS_HOST: effectsHost } = bindings as unknown as Record<string, unknown>
const network = [{ host: String(effectsHost), methods }]

type Work = NonNullable<ReturnType<Plugin>['tools']>[string]

const ask =
  (method: string): Work =>
  async ({ url, chars = 0 }, { fetch, signal }) => {
    const response = await fetch(url, { method, signal })
    return { status: response.status, text: `${await response.text()}${'x'.repeat(chars)}` }
  }

const register: Plugin = () => ({
  tools: {
    look: ask('GET'),
    put: ask('POST'),
    post: ask('POST'),
    late: ask('GET'),
    ask: async (_input, { request }) => ({ ...(await request.elicit(form)) }),
  },
})

const form = {
  message: 'Go on?',
  schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
}

/** Chooses what of a long conversation stays, where a message asks for it by this word; else it chooses nothing. */
const chooseMark = 'CHOOSE'

interface Shown {
  readonly step: number
  readonly pinned?: string
  readonly messages: readonly { readonly text: string }[]
}

const registerChooser: Plugin = () => ({
  providers: {
    async context({ steps }) {
      const shown = steps as readonly Shown[]
      const isMeant = shown.some(({ messages }) =>
        messages.some(({ text }) => text.includes(chooseMark)),
      )
      if (!isMeant) return {}
      const old = shown.filter(({ pinned }) => pinned === undefined)
      return { summarize: old.map(({ step }) => step), summary: 'What was said before.' }
    },
  },
})

/** Makes the calls it is told one after the other, then asks a model. */
const registerBroker: Plugin = () => ({
  tools: {
    async pass({ calls, prompt }, { tools, model }) {
      for (const [name, input] of calls) await tools.call(name, input)
      return (await model.generate({ prompt, maxOutputTokens: 100 })).text
    },
  },
})

const common = { version: '1.0.0', api: '>=1.0 <2.0' }

/** Takes a conversation over, until so long after its last message. */
const handoffAgent = (id: string, timeoutMs: number): BundledPlugin => ({
  manifest: {
    ...common,
    id,
    name: id,
    description: 'Takes a conversation over.',
    depends_on: ['effects', 'http', 'kv'],
    agent: {
      integration_mode: 'handoff',
      model: 'openai/scripted',
      instructions: 'prompt.md',
      uses_tools: ['effects', 'http', 'kv'],
      parameters: { max_output_tokens: 200 },
      handoff: { timeout_ms: timeoutMs },
    },
  },
  files: { 'prompt.md': 'You support.' },
  hash: id.padEnd(64, '0'),
})

export const effectPlugins: readonly BundledPlugin[] = [
  {
    manifest: {
      ...common,
      id: 'effects',
      name: 'Effects',
      description: 'Tools that the fault harness counts.',
      entrypoint: 'main.ts',
      contributes: {
        tools: [
          tool('look', { readOnlyHint: true }),
          tool('put', { idempotentHint: true }),
          tool('post', {}),
          tool('late', { readOnlyHint: true }, 400),
          tool('ask', { readOnlyHint: true }),
        ],
      },
      grants: { network, request: ['elicit'] },
    },
    files: {},
    hash: 'e'.repeat(64),
    register,
  },
  {
    manifest: {
      ...common,
      id: 'helper',
      name: 'Helper',
      description: 'Works on a part of a task.',
      depends_on: ['effects', 'http', 'kv'],
      agent: {
        integration_mode: 'tool',
        model: 'openai/scripted',
        instructions: 'prompt.md',
        uses_tools: ['effects', 'http', 'kv'],
        parameters: { max_output_tokens: 200 },
        limits: { max_turns: 8, max_tokens_per_invocation: 30_000, time_budget_ms: 60_000 },
      },
    },
    files: { 'prompt.md': 'You help.' },
    hash: 'f'.repeat(64),
  },
  handoffAgent('support', 600_000),
  handoffAgent('brief', 1_500),
  {
    manifest: {
      ...common,
      id: 'keeper',
      name: 'Keeper',
      description: 'Keeps what was said.',
      depends_on: ['effects', 'http', 'kv'],
      agent: {
        integration_mode: 'tool',
        model: 'openai/scripted',
        instructions: 'prompt.md',
        uses_tools: ['effects', 'http', 'kv'],
        parameters: { max_output_tokens: 200 },
        memory: { scope: ['agent'], hydrate: 'recent', write: 'turns' },
      },
    },
    files: { 'prompt.md': 'You keep.' },
    hash: 'c'.repeat(64),
  },
  {
    manifest: {
      ...common,
      id: 'chooser',
      name: 'Chooser',
      description: 'Chooses what of a long conversation a model reads.',
      entrypoint: 'main.ts',
      contributes: { providers: ['context'] },
    },
    files: {},
    hash: 'd'.repeat(64),
    register: registerChooser,
  },
  {
    manifest: {
      ...common,
      id: 'broker',
      name: 'Broker',
      description: 'Has code that calls tools, a sub-agent and a model.',
      entrypoint: 'main.ts',
      uses_tools: ['effects', 'http', 'helper'],
      contributes: {
        tools: [{ name: 'pass', description: 'Passes calls on.', input_schema: {} }],
      },
      grants: { model: { max_tokens: 20_000 } },
    },
    files: {},
    hash: 'b'.repeat(64),
    register: registerBroker,
  },
]
