// isola expose show|set: what MCP clients are offered at /mcp.
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, type Context, type ValuesOf } from './command.ts'
import { mayHold, readDocument, setOptions } from './policy.ts'

type Exposure = Request<'POST /api/operator/exposed'>['body']['exposed']

async function show({ request, print }: Context) {
  const answer = await request('GET /api/operator/exposed')
  const { lines, notes } = answer
  print(answer, [...(lines.length > 0 ? lines : ['nothing']), ...notes].join('\n'))
}

async function set({ args: [file], ...context }: Context<ValuesOf<typeof setOptions>, [string]>) {
  const { values, request, print } = context
  // What it may be is for the server to say.
  const body = { exposed: (await readDocument(file)) as Exposure }
  const rehearse = () => request('POST /api/operator/exposed', { body: { ...body, dryRun: true } })
  if (values['dry-run']) {
    const would = await rehearse()
    return print(would, would.notes.join('\n') || 'Nothing is different.')
  }
  if (!(await mayHold(context, rehearse))) throw new Error('The choice is as it was.')
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
      usage: 'isola expose set <file> [--yes] [--dry-run]',
      about:
        'Replaces the choice by a YAML or JSON file (docs/mcp.md); what it leaves out is as it ships: the orchestrator\n' +
        'alone. Nothing is offered that is not named. Says what changes; at a terminal it asks first.',
      options: setOptions,
      run: set,
    },
  }),
}
