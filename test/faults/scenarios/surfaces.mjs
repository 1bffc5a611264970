// Runs that other surfaces ask for: an MCP client, a chat client that runs its own tools.
import { calls } from './basic.mjs'

const { once } = calls

const tools = [
  {
    type: 'function',
    function: {
      name: 'our_tool',
      description: 'Runs at the client.',
      parameters: { type: 'object', properties: { what: { type: 'string' } } },
    },
  },
]

export const scenarios = [
  {
    name: 'mcp',
    async story(trial) {
      await trial.create()
      await trial.callMcp('first', { delayMs: 10, turns: [[once(trial, 'o')]] })
    },
  },
  {
    name: 'mcp-in-background',
    async story(trial) {
      await trial.create()
      const plan = { delayMs: 10, turns: [[once(trial, 'o')]] }
      await trial.callMcp('first', plan, { background: true })
    },
  },
  {
    name: 'mcp-asked-back',
    async story(trial) {
      await trial.create()
      const ask = ['effects__ask', { url: trial.effect('look', 'asked', 0) }]
      await trial.callMcp('first', { delayMs: 10, turns: [[ask], [once(trial, 'o')]] })
    },
  },
  {
    name: 'client-tools',
    async story(trial) {
      await trial.create()
      const turns = [[['our_tool', { what: 'this' }]], [once(trial, 'o')]]
      await trial.chatWithTools('work', { delayMs: 10, turns }, tools)
    },
  },
]
