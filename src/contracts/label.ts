import * as z from 'zod'

/**
 * Who can have written a value, best first: the operator, the user of this conversation, the owner of the data, a
 * tool that computes it from its input, a stranger.
 */
export const integrity = z.enum(['operator', 'user', 'data', 'tool', 'stranger'])

/**
 * Who may read a value, widest first: everyone; the people that the user talks to (`said`: the user's words, and the
 * instructions); the principal alone.
 */
export const confidentiality = z.enum(['public', 'said', 'private'])

/** What a tool does outward; a tool without effects has none. A request that only reads is `egress`, too. */
export const sink = z.enum(['egress', 'write', 'spend', 'message', 'code'])
export type Sink = z.infer<typeof sink>

const levels = { integrity, confidentiality }
const source = z.object({ from: z.string(), ...levels })

/** As it is stored and sent. `sources`: where it has what is not the user's own, at most 16 of them. */
export const labelSchema = z.object({ ...levels, sources: z.array(source).readonly() })

/** Who can have written a value and who may read it. The label of a whole context is the join of all labels in it. */
export type Label = Readonly<z.infer<typeof labelSchema>>
/**
 * A tool, a tool and a host (`http__get example.com`), or a client's tool (`client:read`), with what came from
 * there.
 */
export type LabelSource = Label['sources'][number]

/** The label of our own words, and of an empty context: joined with another label it gives that label. */
export const ownLabel: Label = { integrity: 'operator', confidentiality: 'public', sources: [] }

/** The label of a person's own words. */
export const saidLabel: Label = { integrity: 'user', confidentiality: 'said', sources: [] }

/**
 * The label of a value by its origin: a stranger's and private unless `level` says otherwise, as for every unlabelled
 * value.
 */
export function labelFrom(from: string, level: Partial<Omit<Label, 'sources'>> = {}): Label {
  const own = { integrity: 'stranger', confidentiality: 'private', ...level } as const
  return { ...own, sources: [{ from: from.slice(0, 300).toWellFormed(), ...own }] }
}

/** The source name of a client's tool: the client chooses the tool's name, which may equal a name of ours. */
export const clientSource = (tool: string): string => `client:${tool}`

const maxSources = 16
/** Stands for those that were too many: it sorts behind every name. */
export const manySources = '\u2026'
const others = labelFrom(manySources).sources
const keyOf = (one: LabelSource) => `${one.from} ${one.integrity} ${one.confidentiality}`

/**
 * The least upper bound: as bad as the worst of them. Commutative, associative and idempotent, in its sources too: of
 * too many sources always the same are kept. A missing label is the worst.
 */
export function joinLabels(labels: readonly (Label | undefined)[]): Label {
  const known = labels.map((label) => label ?? labelFrom('unlabelled'))
  const rankOf = (order: readonly string[], of: (label: Label) => string) =>
    known.reduce((rank, label) => Math.max(rank, order.indexOf(of(label))), 0)
  const bySource = new Map(known.flatMap(({ sources }) => sources).map((one) => [keyOf(one), one]))
  const sources = [...bySource.keys()].toSorted().map((key) => bySource.get(key)!)
  return {
    integrity: integrity.options[rankOf(integrity.options, (one) => one.integrity)]!,
    confidentiality:
      confidentiality.options[rankOf(confidentiality.options, (one) => one.confidentiality)]!,
    sources: sources.length > maxSources ? [...sources.slice(0, maxSources), ...others] : sources,
  }
}

/** A message, or what a call came to. */
export interface Labelled {
  readonly label?: Label | undefined
}

/** The label of a call's result. A failure that did not come from the tool is in our words. */
export const labelOfResult = (result: Labelled & { readonly ok: boolean }): Label | undefined =>
  result.ok ? result.label : (result.label ?? ownLabel)
