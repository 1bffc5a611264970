// isola policy show|set|test: which tools may be called, by whom, and how often.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { UsageError } from './usage.ts'

const path = '/api/operator/policy'

async function show({ request, print }) {
  const answer = await request(path)
  print(answer, answer.lines.join('\n'))
}

export function readDocument(file) {
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${error.code ?? error.message}).`)
  }
  try {
    return parse(text)
  } catch (error) {
    throw new UsageError(`${file} is neither YAML nor JSON: ${error.message}`)
  }
}

async function set({ args: [file], request, print }) {
  const answer = await request(path, { method: 'POST', json: { policy: readDocument(file) } })
  print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
}

const verdicts = {
  allow: 'may be called',
  ask: 'is called when somebody has approved it',
  deny: 'may not be called',
}

/** @returns 1 if the call would be denied. */
async function test({ values, request, print }) {
  const { tool, agent, principal } = values
  if (!tool) throw new UsageError('Which tool? Write: --tool kv__set')
  const json = { tool, ...(agent && { agent }), ...(principal && { principal }) }
  const answer = await request(`${path}/test`, { method: 'POST', json })
  const why = answer.rule ? ` (${answer.rule})` : ''
  const rates = answer.rates.map(
    (rate) =>
      `At most ${rate.calls_per_minute} calls of ${rate.tools} a minute for each ${rate.per}.`,
  )
  const text = `${answer.tool} ${verdicts[answer.verdict]} by ${answer.agent} for ${answer.principal}${why}.`
  print(answer, [text, ...rates].join('\n'))
  return answer.verdict === 'deny' ? 1 : 0
}

const text = { type: 'string' }

export default {
  noun: 'policy',
  verbs: {
    show: { usage: 'isola policy show', about: 'Which tools may be called, in lines.', run: show },
    set: {
      usage: 'isola policy set <file>',
      about:
        'Replaces the policy by a YAML or JSON file; what it leaves out is as it ships. Says what has changed.\n' +
        'Holds for the next call, also in runs that are under way.',
      run: set,
    },
    test: {
      usage: 'isola policy test',
      about: 'Whether a call would be made, and which rule decides. Calls nothing.',
      options: { tool: text, agent: text, principal: text },
      run: test,
    },
  },
}
