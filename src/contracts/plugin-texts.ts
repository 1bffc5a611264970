import { toCanonicalJson, type Json } from './json.ts'
import { labelFrom, type Label } from './label.ts'
import type { Manifest, TrustTier } from './manifest.ts'

/** A text of a plugin that models read before they call anything of it, and where it stands. */
interface PluginText {
  readonly place: string
  readonly text: string
}

/** What a plugin tells models of itself. */
export interface PluginTexts {
  readonly texts: readonly PluginText[]
  /** Whether an operator has read exactly that; until then it is a stranger's wherever a model reads it. */
  readonly isTold: boolean
}

/** All that models are told of a plugin by its author: descriptions, titles, values and names in schemas. */
export function textsOf(manifest: Manifest): readonly PluginText[] {
  const { description, natural_language_description: routing, contributes, agent } = manifest
  return [
    { place: 'description', text: description },
    ...(routing === undefined ? [] : [{ place: 'natural_language_description', text: routing }]),
    ...contributes.tools.flatMap((tool) => [
      { place: tool.name, text: tool.description },
      ...inSchema(tool.input_schema as Json, `${tool.name} input`),
      ...inSchema((tool.output_schema ?? {}) as Json, `${tool.name} output`),
    ]),
    ...inSchema(contributes.resources as unknown as Json, 'resources'),
    ...inSchema(contributes.prompts as unknown as Json, 'prompts'),
    ...(agent?.output_schema ? inSchema(agent.output_schema as Json, 'agent output') : []),
  ]
}

/** Whether models are told the same by both: then whoever has read one has read the other. */
export const isToldSame = (one: Manifest, other: Manifest): boolean =>
  toCanonicalJson(textsOf(one) as unknown as Json) ===
  toCanonicalJson(textsOf(other) as unknown as Json)

/**
 * Of what a plugin tells models of a tool: a stranger's words, unless it ships, a signer whom an operator accepted
 * vouches for it, or an operator has read them.
 */
export const toldLabelOf = (
  { tier, isTold = false }: { readonly tier: TrustTier; readonly isTold?: boolean | undefined },
  tool: string,
): { readonly toldLabel?: Label } =>
  tier === 'community' && !isTold
    ? { toldLabel: labelFrom(tool, { confidentiality: 'public' }) }
    : {}

/** Words of JSON Schema that say nothing to a model beyond what they are. */
const bare = new Set(['type', 'format', '$schema'])

function inSchema(value: Json, place: string): readonly PluginText[] {
  if (typeof value === 'string') return [{ place, text: value }]
  if (Array.isArray(value)) return value.flatMap((one, at) => inSchema(one, `${place}[${at}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, part]) =>
    bare.has(name) && typeof part === 'string' ? [] : inSchema(part, `${place}.${name}`),
  )
}
