// isola agent list: whom a session, or `model` of a request, may name.
import { defineVerbs, type Context } from './command.ts'

async function list({ request, print }: Context) {
  const { data } = await request('GET /v1/models')
  // Agents are ours; the rest are models of providers.
  const agents = data.filter((one) => one.owned_by === 'isola').map(({ id }) => id)
  print({ agents }, agents.length === 0 ? 'This key may name no agent.' : agents.join('\n'))
}

export default {
  noun: 'agent',
  verbs: defineVerbs({
    list: {
      usage: 'isola agent list',
      about: 'The agents that this key may name: --agent of chat, `model` of a request.',
      run: list,
    },
  }),
}
