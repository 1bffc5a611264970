// isola expose show|set: what MCP clients are offered at /mcp.
import { readDocument } from './policy.ts'

const path = '/api/operator/exposed'

async function show({ request, print }) {
  const answer = await request(path)
  const { lines, notes = [] } = answer
  print(answer, [...(lines.length > 0 ? lines : ['nothing']), ...notes].join('\n'))
}

async function set({ args: [file], request, print }) {
  const answer = await request(path, { method: 'POST', json: { exposed: readDocument(file) } })
  print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
}

export default {
  noun: 'expose',
  verbs: {
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
  },
}
