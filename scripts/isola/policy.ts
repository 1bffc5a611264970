// isola policy show|set|test: which tools may be called, by whom, and how often.
import { readFileSync } from 'node:fs'
import { defined } from '../../src/contracts/defined.ts'
import type { Request } from '../../src/client/client.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { confirm } from './confirm.ts'
import { shown } from './text.ts'
import { UsageError } from './usage.ts'

type Policy = Request<'POST /api/operator/policy'>['body']['policy']

async function show({ request, print }: Context) {
  const answer = await request('GET /api/operator/policy')
  const { tokens, most, pinned, left } = answer.prompt
  const prompt = [
    '',
    `The orchestrator's prompt has ${tokens} of ${most} tokens:`,
    ...pinned.map((one) => `  ${one.name} ${one.tokens}`),
    ...left.map((name) => `  ${name} found no room`),
  ]
  print(answer, [...answer.lines, ...prompt].join('\n'))
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

export const setOptions = {
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
  ...dryRun,
} as const satisfies Options
type SetContext = Context<ValuesOf<typeof setOptions>, [string]>

/** At a terminal what would be different is shown first, and holds only after a yes. */
export async function mayHold(
  { values, stdin, stderr }: Pick<SetContext, 'values' | 'stdin' | 'stderr'>,
  rehearse: () => Promise<{ readonly notes: readonly string[] }>,
): Promise<boolean> {
  if (values.yes || !stdin.isTTY) return true
  const { notes } = await rehearse()
  stderr.write(`${shown((notes.length > 0 ? notes : ['Nothing is different.']).join('\n'))}\n`)
  return confirm('Is this to hold from the next call on?', { stdin, stderr })
}

async function set({ args: [file], ...context }: SetContext) {
  const { values, request, print } = context
  // What it may be is for the server to say.
  const body = { policy: (await readDocument(file)) as Policy }
  const rehearse = () => request('POST /api/operator/policy', { body: { ...body, dryRun: true } })
  if (values['dry-run']) {
    const would = await rehearse()
    return print(would, would.notes.join('\n') || 'Nothing is different.')
  }
  if (!(await mayHold(context, rehearse))) throw new Error('The policy is as it was.')
  const answer = await request('POST /api/operator/policy', { body })
  print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
}

const text = { type: 'string' } as const
const texts = { ...text, multiple: true } as const
const testOptions = {
  tool: text,
  agent: text,
  principal: text,
  integrity: text,
  confidentiality: text,
  read: texts,
  sink: texts,
  url: text,
} as const satisfies Options
type TestValues = ValuesOf<typeof testOptions>
type Asked = Request<'POST /api/operator/policy/test'>['body']

/** What was read, as options say it: `--read 'crm__find,data,private'`. What the words may be is for the server to say. */
function labelOf({ integrity, confidentiality, read = [] }: TestValues): Asked['label'] {
  if (integrity === undefined && confidentiality === undefined && read.length === 0)
    return undefined
  const sources = read.map((one) => {
    const [from = '', who, whose] = one.split(',')
    return { from, ...(who && { integrity: who }), ...(whose && { confidentiality: whose }) }
  })
  const levels = { ...(integrity && { integrity }), ...(confidentiality && { confidentiality }) }
  return { ...levels, sources } as Asked['label']
}

const verdicts = {
  allow: 'may be called',
  ask: 'is called when somebody has approved it',
  deny: 'may not be called',
}

/** @returns 1 if the call would be denied. */
async function test({ values, request, print }: Context<TestValues>) {
  const { tool, agent, principal, sink = [], url } = values
  if (!tool) throw new UsageError('Which tool? Write: --tool kv__set')
  const label = labelOf(values)
  const body: Asked = {
    tool,
    ...(agent && { agent }),
    ...(principal && { principal }),
    ...defined({ label }),
    ...(sink.length > 0 && { sinks: [...sink] as Asked['sinks'] }),
    ...(url && { url }),
  }
  const answer = await request('POST /api/operator/policy/test', { body })
  const why = answer.rule ? ` (${answer.rule})` : ''
  const rates = answer.rates.map(
    (rate) =>
      `At most ${rate.calls_per_minute} calls of ${rate.tools} a minute for each ${rate.per}.`,
  )
  const text = `${answer.tool} ${verdicts[answer.verdict]} by ${answer.agent} for ${answer.principal}${why}.`
  print(answer, [text, ...(answer.about ? [answer.about] : []), ...rates].join('\n'))
  return answer.verdict === 'deny' ? 1 : 0
}

export default {
  noun: 'policy',
  plural: 'policies',
  verbs: defineVerbs({
    show: { usage: 'isola policy show', about: 'Which tools may be called, in lines.', run: show },
    set: {
      usage: 'isola policy set <file> [--yes] [--dry-run]',
      about:
        'Replaces the policy by a YAML or JSON file; what it leaves out is as it ships. Says what changes, in order: "-" is gone,\n' +
        '"+" is new, "<" moved from here, ">" moved to here. At a terminal it asks first. Holds for the next call, also in runs\n' +
        'that are under way.',
      options: setOptions,
      run: set,
    },
    test: {
      usage: 'isola policy test',
      about:
        'Whether a call would be made, and which rule decides. Calls nothing.\n' +
        'Rules of labels are tried with what the tool does (--sink egress|write|spend|message|code instead, more than once) and what was\n' +
        "read before: --integrity and --confidentiality of all of it, or --read '<source>[,<integrity>[,<confidentiality>]]' for each source\n" +
        "(--read 'http__get news.example,stranger,public'). --url is where a call goes whose tool takes an address.",
      options: testOptions,
      run: test,
    },
  }),
}
