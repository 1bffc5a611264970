// isola policy show|set|test, isola expose show|set: which tools may be called, and what MCP clients are offered.
import { readFileSync } from 'node:fs'
import type { Request } from '../../src/client/client.ts'
import { noun, on, verb, type Context } from './command.ts'
import { confirm } from './confirm.ts'
import { dryRun, text, texts, yes, type Options, type ValuesOf } from './options.ts'
import { lines, messageOf, shown } from './text.ts'
import { UsageError } from './usage.ts'

const whyUnread = (error: unknown) =>
  error instanceof Error && 'code' in error ? error.code : String(error)

/** A YAML or JSON file; what it may say, the server says. */
async function readDocument(file: string): Promise<never> {
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${whyUnread(error)}).`)
  }
  // It takes as long to load as all commands together.
  const { parse } = await import('yaml')
  try {
    return parse(text) as never
  } catch (error) {
    throw new UsageError(`${file} is neither YAML nor JSON: ${messageOf(error)}`)
  }
}

const setOptions = { ...yes, ...dryRun } as const satisfies Options

/** Replaces a document of the deployment. At a terminal the differences are shown first, and hold after a yes. */
const replace = (
  route: 'POST /api/operator/policy' | 'POST /api/operator/exposed',
  { field, kept }: { readonly field: 'policy' | 'exposed'; readonly kept: string },
) =>
  async function set({ args: [file], ...context }: Context<ValuesOf<typeof setOptions>, [string]>) {
    const { values, request, print, stdin, stderr } = context
    const document = await readDocument(file)
    const send = (more: object) =>
      request(route as 'POST /api/operator/policy', {
        body: { [field]: document, ...more } as never,
      })
    const differences = async () => {
      const would = await send({ dryRun: true })
      return { would, said: would.notes.join('\n') || 'Nothing is different.' }
    }
    if (values['dry-run']) {
      const { would, said } = await differences()
      return print(would, said)
    }
    if (!values.yes && stdin.isTTY) {
      stderr.write(`${shown((await differences()).said)}\n`)
      if (!(await confirm('Is this to hold from the next call on?', { stdin, stderr })))
        throw new Error(kept)
    }
    const answer = await send({})
    print(answer, lines(answer.notes, `Generation ${answer.generation}.`))
  }

/** `crm__find,data,private`: what was read, who can have written it, and who may read it. */
function toSource(read: string) {
  const [from = '', who, reader] = read.split(',')
  return { from, ...(who && { integrity: who }), ...(reader && { confidentiality: reader }) }
}

const verdicts = {
  allow: 'may be called',
  ask: 'is called once it is approved',
  deny: 'may not be called',
}

type Asked = Request<'POST /api/operator/policy/test'>['body']

export default noun(
  'policy',
  {
    show: on('GET /api/operator/policy', {
      about: 'Which tools may be called, in lines.',
      says: ({ lines: rules, prompt: { tokens, most, pinned, left } }) =>
        lines(
          rules,
          '',
          `The orchestrator's prompt has ${tokens} of ${most} tokens:`,
          pinned.map((one) => `  ${one.name} ${one.tokens}`),
          left.map((name) => `  ${name} found no room`),
        ),
    }),
    set: {
      usage: '<file> [--yes] [--dry-run]',
      about:
        'Replaces the policy by a YAML or JSON file; what it leaves out is as it ships. Says what changes, in order: "-" is gone,\n' +
        '"+" is new, "<" moved from here, ">" moved to here. At a terminal it asks first. Holds for the next call, also in runs\n' +
        'that are under way.',
      options: setOptions,
      run: replace('POST /api/operator/policy', {
        field: 'policy',
        kept: 'The policy is as it was.',
      }),
    },
    test: verb({
      usage: '--tool <tool> [options]',
      about:
        'Whether a call would be made, and which rule decides. Calls nothing.\n' +
        'Rules of labels are tried with what the tool does (--sink egress|write|spend|message|code instead, more than once) and what was\n' +
        "read before: --integrity and --confidentiality of all of it, or --read '<source>[,<integrity>[,<confidentiality>]]' for each source\n" +
        "(--read 'http__get news.example,stranger,public'). --url is where a call goes whose tool takes an address.",
      options: {
        tool: text(),
        agent: text(),
        principal: text(),
        integrity: text(undefined, undefined, { to: 'label.integrity' }),
        confidentiality: text(undefined, undefined, { to: 'label.confidentiality' }),
        read: texts(undefined, undefined, { to: 'label.sources', read: toSource }),
        sink: texts(undefined, undefined, { to: 'sinks' }),
        url: text(),
      },
      /** @returns 1 if the call would be denied. */
      async run({ values, request, print, sent }) {
        if (!values.tool) throw new UsageError('Which tool? Write: --tool kv__set')
        const { label, ...asked } = sent()
        const body = {
          ...asked,
          ...(label !== undefined && { label: { sources: [], ...Object(label) } }),
        }
        const answer = await request('POST /api/operator/policy/test', { body: body as Asked })
        const { tool, verdict, agent, principal, rule, about, rates } = answer
        const why = rule ? ` (${rule})` : ''
        const text = lines(
          `${tool} ${verdicts[verdict]} by ${agent} for ${principal}${why}.`,
          about,
          rates.map(
            (rate) =>
              `At most ${rate.calls_per_minute} calls of ${rate.tools} a minute for each ${rate.per}.`,
          ),
        )
        print(answer, text)
        return verdict === 'deny' ? 1 : 0
      },
    }),
  },
  { plural: 'policies' },
)

export const expose = noun('expose', {
  show: on('GET /api/operator/exposed', {
    about: 'What MCP clients are offered at /mcp, in lines.',
    says: ({ lines: offered, notes }) => lines(offered.length > 0 ? offered : 'nothing', notes),
  }),
  set: {
    usage: '<file> [--yes] [--dry-run]',
    about:
      'Replaces the choice by a YAML or JSON file (docs/mcp.md); what it leaves out is as it ships: the orchestrator\n' +
      'alone. Nothing is offered that is not named. Says what changes; at a terminal it asks first.',
    options: setOptions,
    run: replace('POST /api/operator/exposed', {
      field: 'exposed',
      kept: 'The choice is as it was.',
    }),
  },
})
