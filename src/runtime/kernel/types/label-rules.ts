import * as z from 'zod'
import {
  confidentiality,
  integrity,
  manySources,
  sink,
  type Label,
  type LabelSource,
  type Sink,
} from '#contracts/label.ts'

/**
 * A tool, or the start of one with `*`, of ours or a client's own, and one host of it: `crm__*`, `http__get
 * docs.example.com`, `client:read`.
 */
const sourceForm = /^(?:client:)?(\*|[A-Za-z0-9_-]{1,64}\*?)( [a-z0-9.:[\]-]{1,253})?$/

/**
 * One rule: the verdict on a call with this sink in a context with this label. `ask` and `deny` apply to contexts as
 * bad as the label or worse, `allow` to contexts as good or better. An absent field matches everything.
 */
export const labelRuleSchema = z.strictObject({
  label: z
    .strictObject({
      integrity: integrity.optional(),
      confidentiality: confidentiality.optional(),
      /**
       * `ask` and `deny`: some text in the context comes from there, or may, since the label has more sources than it
       * can name. `allow`: every text with a source comes from there.
       */
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
  /**
   * Only for calls that go elsewhere. With private data in the context: anywhere but the one place that all of it came
   * from. Without private data: anywhere but a place that was read, or a host that an operator named.
   */
  to: z.literal('elsewhere').optional(),
  verdict: z.enum(['allow', 'ask', 'deny']),
})
/** One line of the policy: a `deny` that fits decides, else the first that fits. */
export type LabelRule = z.infer<typeof labelRuleSchema>

/**
 * The rules of a fresh deployment. A call waits for approval where a stranger's text could steer an effect, have
 * private data sent out, or reach a host that no person named. A call that only the user's text steers is allowed.
 */
export const defaultLabelRules: readonly LabelRule[] = [
  {
    label: { integrity: 'stranger' },
    sink: ['write', 'spend', 'message', 'code'],
    tools: '*',
    verdict: 'ask',
  },
  {
    label: { integrity: 'stranger' },
    sink: ['egress'],
    tools: '*',
    to: 'elsewhere',
    verdict: 'ask',
  },
]

/** A call as a rule meets it. */
export interface RuledCall {
  readonly tool?: string
  /** The source name, in labels, of the place that the call goes to; absent if that is not one place. */
  readonly home?: string | undefined
  /** An operator named where it goes: by its host, by a grant, or by registering it. */
  readonly isNamed?: boolean
}

/** The verdict of the rules on a call: the deciding `rule`, and the `sink` that it decided about. */
interface LabelVerdict {
  readonly verdict: LabelRule['verdict']
  readonly rule?: LabelRule
  readonly sink?: Sink
}

const badness = { allow: 0, ask: 1, deny: 2 } as const

/** The worse of two verdicts; the first of two that are alike. */
export const worse = <Verdict extends Pick<LabelVerdict, 'verdict'>>(a: Verdict, b: Verdict) =>
  badness[b.verdict] > badness[a.verdict] ? b : a

/**
 * The verdict on a call with these sinks in a context with this label. Only labels count: the arguments are never
 * compared with the texts that were read. Of several sinks the worst verdict counts. Without a rule that fits, the
 * verdict is `allow`.
 *
 * @param call Where the call goes, for rules with `to`. Without it the call counts as going elsewhere.
 */
export function verdictOf(
  label: Label,
  sinks: Sink | readonly Sink[],
  rules: readonly LabelRule[] = defaultLabelRules,
  call: RuledCall = {},
): LabelVerdict {
  const { tool = '' } = call
  const fitting = rules.filter(
    (each) =>
      isMatch(tool, each.tools) &&
      fits(each, label) &&
      (each.to === undefined || isElsewhere(label, call)),
  )
  const verdicts = [sinks].flat().map((one): LabelVerdict => {
    const found = fitting.filter((each) => [each.sink].flat().includes(one))
    const rule = found.find(({ verdict }) => verdict === 'deny') ?? found[0]
    return rule ? { verdict: rule.verdict, rule, sink: one } : { verdict: 'allow' }
  })
  return verdicts.reduce(worse, { verdict: 'allow' })
}

function fits({ label: wanted, verdict }: LabelRule, label: Label): boolean {
  const holds = <Level extends string>(
    order: readonly Level[],
    has: Level,
    wants: Level | undefined,
  ) =>
    wants === undefined ||
    (verdict === 'allow'
      ? order.indexOf(has) <= order.indexOf(wants)
      : order.indexOf(has) >= order.indexOf(wants))
  return (
    holds(integrity.options, label.integrity, wanted.integrity) &&
    holds(confidentiality.options, label.confidentiality, wanted.confidentiality) &&
    (wanted.from === undefined || isFrom(label, wanted.from, verdict))
  )
}

function isFrom(label: Label, wanted: string, verdict: LabelRule['verdict']): boolean {
  const { sources } = label
  const isThere = ({ from }: LabelSource) => isSource(from, wanted)
  const areAll = namesAll(label)
  return verdict === 'allow' ? areAll && sources.every(isThere) : !areAll || sources.some(isThere)
}

/**
 * Whether a label names all of its sources: there were not too many, and a named source accounts for each bad or
 * private text.
 */
function namesAll({ sources, ...label }: Label): boolean {
  const has = (isSuch: (one: LabelSource) => boolean) => sources.some(isSuch)
  return (
    !has(({ from }) => from === manySources) &&
    (label.integrity !== 'stranger' || has((one) => one.integrity === 'stranger')) &&
    (label.confidentiality !== 'private' || has((one) => one.confidentiality === 'private'))
  )
}

/** Whether a call goes elsewhere than its context came from (`to` of a rule). */
export function isElsewhere(
  { sources, confidentiality: whose }: Label,
  call: Pick<RuledCall, 'home' | 'isNamed'>,
): boolean {
  const { home, isNamed = false } = call
  const isHome = ({ from }: LabelSource) => home !== undefined && isSource(from, home)
  if (whose !== 'private') return !isNamed && !sources.some(isHome)
  const privates = sources.filter((one) => one.confidentiality === 'private')
  return privates.length === 0 || !privates.every(isHome)
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

/** The text that an approver reads: which label decided, its sources, and what the call can do. */
export function labelText({ sources, ...label }: Label, { sink: does }: LabelVerdict): string {
  const from = (isSuch: (one: LabelSource) => boolean) => {
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
export function labelRuleLine({ label, sink: of, tools, to, verdict }: LabelRule): string {
  const { integrity: who, confidentiality: whose, from } = label
  const more = verdict === 'allow' ? 'or better' : 'or worse'
  const words = [
    ...(who ? [`${who} ${more}`] : []),
    ...(whose ? [`${whose} ${more}`] : []),
    ...(from === undefined ? [] : [`from ${from}`]),
  ]
  const context = words.length === 0 ? 'any context' : `a context that is ${words.join(', ')}`
  const where = to === undefined ? '' : ` to ${to}`
  return `${verdict} ${[of].flat().join(', ')}${where} by ${tools} in ${context}`
}
