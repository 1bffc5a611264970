import * as z from 'zod'
import { confidentiality, integrity, sink, type Label, type Sink } from './label.ts'

/** A tool, or the start of one with `*`, and one host of it: `crm__*`, `http__get docs.example.com`. */
const sourceForm = /^(\*|[A-Za-z0-9_-]{1,64}\*?)( [a-z0-9.:[\]-]{1,253})?$/

/**
 * What becomes of a call with such a sink in such a context. `ask` and `deny` hold for contexts as bad as this or
 * worse, `allow` for those as bad or better; what is left out holds for all.
 */
export const labelRuleSchema = z.strictObject({
  label: z
    .strictObject({
      integrity: integrity.optional(),
      confidentiality: confidentiality.optional(),
      /** `ask` and `deny`: something in the context is from there. `allow`: all that has a source is. */
      from: z
        .string()
        .regex(
          sourceForm,
          'must be a tool, or the start of one with *, and maybe one host after it',
        )
        .optional(),
    })
    .default({}),
  sink: z.union([sink, z.array(sink).min(1)]),
  /** Only of these tools: a name, or the start of one with `*`. */
  tools: z
    .string()
    .regex(/^(\*|[A-Za-z0-9_-]{1,64}\*?)$/, 'must be a tool name, or the start of one with *')
    .default('*'),
  verdict: z.enum(['allow', 'ask', 'deny']),
})
/** One line of the policy: the first that fits decides. */
export type LabelRule = z.infer<typeof labelRuleSchema>

/**
 * What ships: somebody is asked where a stranger's text could steer an effect, or have private data sent out. What the
 * user alone steers is the user's, and a page that was read may lead to the next one.
 */
export const defaultLabelRules: readonly LabelRule[] = [
  {
    label: { integrity: 'stranger' },
    sink: ['write', 'spend', 'message', 'code'],
    tools: '*',
    verdict: 'ask',
  },
  {
    label: { integrity: 'stranger', confidentiality: 'private' },
    sink: ['egress'],
    tools: '*',
    verdict: 'ask',
  },
]

/** What the rules say of a call. `rule` is the one that decided, `sink` what it decided for. */
export interface LabelVerdict {
  readonly verdict: LabelRule['verdict']
  readonly rule?: LabelRule
  readonly sink?: Sink
}

const badness = { allow: 0, ask: 1, deny: 2 } as const

/** The worse of two verdicts; the first of two that are alike. */
export const worse = <Verdict extends Pick<LabelVerdict, 'verdict'>>(a: Verdict, b: Verdict) =>
  badness[b.verdict] > badness[a.verdict] ? b : a

/**
 * May a call that does this outward be made by whoever has read what this label is of? By labels alone: what the call
 * says is never compared with what was read. Of several sinks the worst verdict counts; without a rule that fits it is
 * `allow`.
 */
export function verdictOf(
  label: Label,
  sinks: Sink | readonly Sink[],
  rules: readonly LabelRule[] = defaultLabelRules,
  tool = '',
): LabelVerdict {
  const verdicts = [sinks].flat().map((one): LabelVerdict => {
    const rule = rules.find(
      (each) => [each.sink].flat().includes(one) && isMatch(tool, each.tools) && fits(each, label),
    )
    return rule ? { verdict: rule.verdict, rule, sink: one } : { verdict: 'allow' }
  })
  return verdicts.reduce(worse, { verdict: 'allow' })
}

function fits({ label: wanted, verdict }: LabelRule, label: Label): boolean {
  const { from } = wanted
  const holds = <Level extends string>(
    order: readonly Level[],
    has: Level,
    wants: Level | undefined,
  ) =>
    wants === undefined ||
    (verdict === 'allow'
      ? order.indexOf(has) <= order.indexOf(wants)
      : order.indexOf(has) >= order.indexOf(wants))
  const isFrom = ({ from: source }: Label['sources'][number]) =>
    from === undefined || isSource(source, from)
  return (
    holds(integrity.options, label.integrity, wanted.integrity) &&
    holds(confidentiality.options, label.confidentiality, wanted.confidentiality) &&
    (from === undefined ||
      (verdict === 'allow' ? label.sources.every(isFrom) : label.sources.some(isFrom)))
  )
}

const isMatch = (name: string, wanted: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted

function isSource(source: string, wanted: string): boolean {
  const [[tool = '', host], [wantedTool = '', wantedHost]] = [source, wanted].map((one) =>
    one.split(' '),
  ) as [string[], string[]]
  return isMatch(tool, wantedTool) && (wantedHost === undefined || wantedHost === host)
}

const effects: Readonly<Record<Sink, string>> = {
  egress: 'send what it is given to a host outside',
  write: 'change something outside',
  spend: 'spend money',
  message: 'send a message',
  code: 'make code that runs later',
}

const maxNamed = 5

/** What somebody is told who decides: which label, from where, and what the call can do. */
export function labelText({ sources, ...label }: Label, { sink: does }: LabelVerdict): string {
  const from = (isSuch: (one: Label['sources'][number]) => boolean) => {
    const names = [...new Set(sources.filter(isSuch).map((one) => one.from))]
    const shown = names.slice(0, maxNamed).join(', ')
    return names.length === 0 ? '' : ` (${shown}${names.length > maxNamed ? ', …' : ''})`
  }
  const read = [
    ...(label.integrity === 'stranger'
      ? [`text that a stranger can have written${from((one) => one.integrity === 'stranger')}`]
      : []),
    ...(label.confidentiality === 'private'
      ? [`private data${from((one) => one.confidentiality === 'private')}`]
      : []),
  ]
  const what = read.length === 0 ? 'what this deployment asks about' : read.join(' and ')
  return `Whoever asks for this call has read ${what}, and it can ${does ? effects[does] : 'reach outside'}.`
}

/** A rule as a line. */
export function labelRuleLine({ label, sink: of, tools, verdict }: LabelRule): string {
  const { integrity: who, confidentiality: whose, from } = label
  const more = verdict === 'allow' ? 'or better' : 'or worse'
  const words = [
    ...(who ? [`${who} ${more}`] : []),
    ...(whose ? [`${whose} ${more}`] : []),
    ...(from === undefined ? [] : [`from ${from}`]),
  ]
  const context = words.length === 0 ? 'any context' : `a context that is ${words.join(', ')}`
  return `${verdict} ${[of].flat().join(', ')} by ${tools} in ${context}`
}
