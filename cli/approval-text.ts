// The facts that a person needs before deciding about a call, for a terminal.
import type { Reply } from '../src/client/client.ts'
import { defined } from '../src/contracts/defined.ts'
import { textsIn } from '../src/features/mcp-servers/types.ts'
import { withCodes } from '../src/contracts/visible-text.ts'
import { dollars, lines, short, shown } from './text.ts'

type Entry = Reply<'GET /api/operator/approvals/:id'>
type Pause = NonNullable<Entry['pause']>
type Approval = NonNullable<Pause['approval']>
type Label = NonNullable<Pause['label']>

/** The arguments, with everything in them seen: what hides is written as its code, and nothing is cut. */
export const argumentsOf = (input: unknown, indent?: number): string =>
  JSON.stringify(input, null, indent).split('\n').map(withCodes).join('\n')

/** Of alphabets whose letters pass for Latin ones; and Latin ones that are no ASCII, such as wide ones. */
const passing =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]|[\uff21-\uff5a]|[\u{1d400}-\u{1d7ff}]/gu
const words = /[\p{L}\p{M}\p{N}._@:/]+/gu
const maxNamed = 5

/** Words that mix such letters with ASCII ones: `bоb` with a Cyrillic `о` is not `bob`. */
function lookAlikes(input: unknown): string | undefined {
  const mixed = textsIn(input)
    .flatMap((text) => text.match(words) ?? [])
    .filter((word) => /[a-z]/i.test(word) && word.search(passing) >= 0)
    .map((word) => word.replace(passing, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`))
  const named = [...new Set(mixed)]
  const more = named.length > maxNamed ? ', …' : ''
  if (named.length === 0) return undefined
  return `letters that pass for others: ${named.slice(0, maxNamed).join(', ')}${more}`
}

const effects: Readonly<Record<string, string>> = {
  egress: 'sends what it is given to a host outside',
  write: 'changes something outside',
  spend: 'spends money',
  message: 'sends a message',
  code: 'makes code that runs later',
}

type Facts = Partial<Approval> & {
  readonly label?: Label | undefined
  readonly about?: string | undefined
  readonly input?: unknown
  readonly spent?: Pause['spent'] | undefined
}

/** Describes who can have written a value. */
const writers: Readonly<Record<Label['integrity'], string>> = {
  operator: 'nothing from outside',
  user: 'what you said',
  data: 'your own data',
  tool: 'results of tools',
  stranger: 'text of strangers',
}
/** Describes who may read it. */
const readers: Readonly<Record<Label['confidentiality'], string>> = {
  public: '',
  said: '',
  private: ', something private',
}

/** A label in a few words: the origin of the data that was read before. */
export const readText = (label: Pick<Label, 'integrity' | 'confidentiality'>) =>
  `${writers[label.integrity]}${readers[label.confidentiality]}`

/** Why a call waits, by the reason on the record. */
const reasons: Readonly<Record<string, string>> = {
  destructive: 'it may destroy something',
  label: 'the agent has read something before that this call must not pass on unasked',
  host_not_allowed: 'its host is not open (isola http allow <host>)',
  policy_unknown: 'the policy could not be read',
  tool: 'the tool itself asks for a yes',
  run: 'this run was told to ask before it (--approve, requireApproval)',
}

const approvers: Readonly<Record<string, string>> = {
  owner: 'Whose session it is may allow it, or an operator.',
  author: 'An author or an operator may allow it.',
  operator: 'An operator may allow it.',
}

/** Why the call waits, what its agent read before, what it does and may cost: a line each. */
export function factsOf({ approval, ...pause }: Partial<Pause> & Facts): readonly string[] {
  const facts: Facts = { ...approval, ...pause, label: pause.label }
  const { approver, reason = '', label, sinks = [], isDestructive, mayCost, outdatedRule } = facts
  const sources = label?.sources.map((one) => `${one.from} (${writers[one.integrity]})`) ?? []
  const from = sources.length === 0 ? '' : ` from ${sources.join(', ')}`
  const does = [...sinks.map((one) => effects[one] ?? one), ...(isDestructive ? ['destroys'] : [])]
  const { costNanoUsd, tokens } = mayCost ?? {}
  const cost = [
    costNanoUsd !== undefined && dollars(costNanoUsd / 1e9),
    tokens !== undefined && `${tokens} tokens`,
  ].filter(Boolean)
  const told = [
    lookAlikes(facts.input),
    approver && `It asks because ${reasons[reason] ?? reason}. ${approvers[approver] ?? ''}`.trim(),
    label && `It has read ${readText(label)}${from}.`,
    does.length > 0 && `It ${does.join(', ')}.`,
    facts.about,
    cost.length > 0 && `may cost up to ${cost.join(' and ')}`,
    facts.spent && `its run has spent ${facts.spent.tokens} tokens`,
    outdatedRule && `the tool was changed since ${outdatedRule} was made, which holds no more`,
  ]
  return told.flatMap((line) => (line ? [short(line, 2_000)] : []))
}

/** All that a person has to know before deciding about a call of the inbox: the arguments are whole. */
export function described(entry: Entry): string {
  const { id, state, tool, pause, decidedBy, approver, reason, label } = entry
  return shown(
    lines(
      `${id}: ${state}${decidedBy ? `, by ${decidedBy.principal} (${decidedBy.role})` : ''}`,
      `${tool}${pause ? ` with ${argumentsOf(pause.input, 2)}` : ''}`,
      `asked by ${entry.agent} for ${entry.principal}, in ${entry.session} ${entry.run}`,
      factsOf({ ...pause, ...defined({ approver, reason }), label }),
      `arguments ${entry.argsHash}`,
    ),
  )
}
