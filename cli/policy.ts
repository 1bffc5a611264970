// isola policy show|set|test, isola expose show|set: which tools may be called, and what MCP clients are offered.
import { readFileSync } from 'node:fs'
import type { Request } from '../src/client/client.ts'
import { noun, on, verb } from './command.ts'
import { confirm } from './confirm.ts'
import { dryRun, text, texts, yes, UsageError } from './options.ts'
import { lines, messageOf, shown } from './text.ts'

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

/** Replaces a document of the deployment. At a terminal the differences are shown first, and hold after a yes. */
const replacing = (
  field: 'policy' | 'exposed',
  { about, kept }: { readonly about: string; readonly kept: string },
) =>
  verb({
    usage: '<file>',
    about,
    options: { ...yes, ...dryRun },
    async run({ args: [file], values, request, print, stdin, stderr }) {
      const document = await readDocument(file)
      const send = (more: object) =>
        request(`POST /api/operator/${field}` as 'POST /api/operator/policy', {
          body: { [field]: document, ...more } as never,
        })
      const isAsked = !values.yes && stdin.isTTY === true
      if (values['dry-run'] || isAsked) {
        const would = await send({ dryRun: true })
        const said = would.notes.join('\n') || 'Nothing is different.'
        if (values['dry-run']) return print(would, said)
        stderr.write(`${shown(said)}\n`)
        if (!(await confirm('Is this to hold from the next call on?', { stdin, stderr })))
          throw new Error(kept)
      }
      const answer = await send({})
      print(answer, lines(answer.notes, `Generation ${answer.generation}.`))
    },
  })

/** Parses `crm__find,data,private`: the tool that was read, who can have written it, and who may read it. */
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
    set: replacing('policy', {
      about:
        'Replaces the policy by a YAML or JSON file; what it leaves out is as it ships. Says what changes, in ' +
        'order: "-" is gone,\n' +
        '"+" is new, "<" moved from here, ">" moved to here. At a terminal it asks first. Holds for the next ' +
        'call, also in runs\n' +
        'that are under way.',
      kept: 'The policy is as it was.',
    }),
    test: verb({
      usage: '--tool <tool> [options]',
      about:
        'Whether a call would be made, and which rule decides. Calls nothing.\n' +
        'Rules of labels are tried with what the tool does (--sink egress|write|spend|message|code instead, ' +
        'more than once) and what was\n' +
        'read before: --integrity and --confidentiality of all of it, or --read ' +
        "'<source>[,<integrity>[,<confidentiality>]]' for each source\n" +
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
  set: replacing('exposed', {
    about:
      'Replaces the choice by a YAML or JSON file (docs/mcp.md); what it leaves out is as it ships: the ' +
      'orchestrator\n' +
      'alone. Nothing is offered that is not named. Says what changes; at a terminal it asks first.',
    kept: 'The choice is as it was.',
  }),
})
