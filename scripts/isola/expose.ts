// isola expose show|set: what MCP clients are offered at /mcp.
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, type Context } from './command.ts'
import { readDocument } from './policy.ts'

type Exposure = Request<'POST /api/operator/exposed'>['body']['exposed']

async function show({ request, print }: Context) {
  const answer = await request('GET /api/operator/exposed')
  const { lines, notes } = answer
  print(answer, [...(lines.length > 0 ? lines : ['nothing']), ...notes].join('\n'))
}

async function set({ args: [file], request, print }: Context<object, [string]>) {
  // What it may be is for the server to say.
  const body = { exposed: (await readDocument(file)) as Exposure }
  const answer = await request('POST /api/operator/exposed', { body })
  print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
}

export default {
  noun: 'expose',
  verbs: defineVerbs({
    show: {
      usage: 'isola expose show',
      about: 'What MCP clients are offered at /mcp, in lines.',
      run: show,
    },
    set: {
      usage: 'isola expose set <file>',
      about:
        'Replaces the choice by a YAML or JSON file (docs/mcp.md); what it leaves out is as it ships: the orchestrator\n' +
        'alone. Nothing is offered that is not named. Says what has changed.',
      run: set,
    },
  }),
}
