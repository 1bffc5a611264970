// isola policy show|set|test: which tools may be called, by whom, and how often.
import { readFileSync } from 'node:fs'
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, type Context } from './command.ts'
import { UsageError } from './usage.ts'

type Policy = Request<'POST /api/operator/policy'>['body']['policy']

async function show({ request, print }: Context) {
  const answer = await request('GET /api/operator/policy')
  print(answer, answer.lines.join('\n'))
}

const whyUnread = (error: unknown) =>
  error instanceof Error && 'code' in error ? error.code : String(error)

/** A YAML or JSON file. */
export async function readDocument(file: string): Promise<unknown> {
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${whyUnread(error)}).`)
  }
  // It takes as long to load as all commands together.
  const { parse } = await import('yaml')
  try {
    return parse(text)
  } catch (error) {
    throw new UsageError(
      `${file} is neither YAML nor JSON: ${error instanceof Error ? error.message : error}`,
    )
  }
}

async function set({ args: [file], request, print }: Context<object, [string]>) {
  // What it may be is for the server to say.
  const body = { policy: (await readDocument(file)) as Policy }
  const answer = await request('POST /api/operator/policy', { body })
  print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
}

type TestValues = { readonly [Name in 'tool' | 'agent' | 'principal']?: string | undefined }

const verdicts = {
  allow: 'may be called',
  ask: 'is called when somebody has approved it',
  deny: 'may not be called',
}

/** @returns 1 if the call would be denied. */
async function test({ values, request, print }: Context<TestValues>) {
  const { tool, agent, principal } = values
  if (!tool) throw new UsageError('Which tool? Write: --tool kv__set')
  const body = { tool, ...(agent && { agent }), ...(principal && { principal }) }
  const answer = await request('POST /api/operator/policy/test', { body })
  const why = answer.rule ? ` (${answer.rule})` : ''
  const rates = answer.rates.map(
    (rate) =>
      `At most ${rate.calls_per_minute} calls of ${rate.tools} a minute for each ${rate.per}.`,
  )
  const text = `${answer.tool} ${verdicts[answer.verdict]} by ${answer.agent} for ${answer.principal}${why}.`
  print(answer, [text, ...rates].join('\n'))
  return answer.verdict === 'deny' ? 1 : 0
}

const text = { type: 'string' } as const

export default {
  noun: 'policy',
  plural: 'policies',
  verbs: defineVerbs({
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
  }),
}
