import { unlimited } from '#contracts/lease.ts'
import type { ModelCandidate, ModelCapabilities, ModelNeeds, ScoreModel } from '../types.ts'
import type { ModelRequest, PassedOver } from '#contracts/model.ts'
import { outputCap } from '../estimate.ts'
import { IsolaError } from '#contracts/errors.ts'

/** The needs of a request, read from the request itself (I6). */
export function needsOf(request: ModelRequest, inputTokens: number): ModelNeeds {
  const { messages, tools, outputSchema, parameters, maxCostNanoUsd = unlimited } = request
  return {
    images: messages.some(
      (message) => message.role === 'user' && (message.images ?? []).length > 0,
    ),
    tools: tools.length > 0,
    structuredOutput: outputSchema !== undefined || parameters.responseFormat !== undefined,
    contextTokens: inputTokens + outputCap(request),
    maxCostNanoUsd,
  }
}

/** A capability that a model lacks; a retry cannot help. */
type Lack = 'images' | 'tools' | 'structured_output' | 'context'

/** The first capability that a model is known to lack. An unknown capability is tried. */
function lackOf(capabilities: ModelCapabilities, needs: ModelNeeds): Lack | undefined {
  const { contextTokens, images, tools, structuredOutput } = capabilities
  if (needs.images && images === false) return 'images'
  if (needs.tools && tools === false) return 'tools'
  if (needs.structuredOutput && structuredOutput === false) return 'structured_output'
  if (contextTokens !== undefined && needs.contextTokens > contextTokens) return 'context'
  return undefined
}

/** An unknown price is too dear for any ceiling. */
const hasPriceForIt = ({ isPriced }: ModelCandidate, needs: ModelNeeds): boolean =>
  isPriced || needs.maxCostNanoUsd >= unlimited

/** Whether the most a call may cost fits its cost limit. */
const isAffordable = ({ estimate }: ModelCandidate, needs: ModelNeeds): boolean =>
  estimate.costNanoUsd <= needs.maxCostNanoUsd

/** A lack as a caller reads it. */
function tellLack(
  { provider, model, capabilities }: ModelCandidate,
  lack: Lack,
  needs: ModelNeeds,
): string {
  const name = `${provider}/${model}`
  switch (lack) {
    case 'images':
      return `${name} takes no images`
    case 'tools':
      return `${name} takes no tools`
    case 'structured_output':
      return `${name} gives no structured output`
    case 'context':
      return `${name} has room for ${capabilities.contextTokens} tokens of about ${needs.contextTokens}`
  }
}

/** The default: as the operator listed them. */
export const byPriority: ScoreModel = ({ priority }) => -priority

/** Candidates in the order of attempts, cooling ones last, and the models that were passed over for the first. */
export interface CandidateOrder {
  readonly candidates: readonly [ModelCandidate, ...ModelCandidate[]]
  readonly passedOver: readonly PassedOver[]
}

export interface OrderOptions {
  /** In priority order. */
  readonly candidates: readonly ModelCandidate[]
  readonly needs: ModelNeeds
  readonly score: ScoreModel
  readonly isCooling: (candidate: ModelCandidate) => boolean
  /** The first was named, and no list has others for that name: without a price no other is asked in its place. */
  readonly isNamed?: boolean
  /** The model is listed; of any other nothing says that it exists. */
  readonly isKnown?: (candidate: ModelCandidate) => boolean
}

/**
 * The models to try, in order (I6): the models that can do what the request needs, by score. A model that costs too
 * much or cools down is passed over as long as another is left; where none is, the lease and the provider decide.
 * Under a cost ceiling a model without a known price is out in any case: it may cost anything; and a model that the
 * request names is not replaced by another for that reason.
 * Throws `model_not_capable`, with the lack, `model_price_unknown`, or `model_not_found` for a name without a price
 * that is not listed.
 */
export function orderCandidates(options: OrderOptions): CandidateOrder {
  const { candidates, needs, score, isCooling, isNamed = false, isKnown = () => true } = options
  const passedOver: PassedOver[] = []
  const pass = ({ provider, model }: ModelCandidate, reason: string) =>
    void passedOver.push({ provider, model, reason })

  const able = candidates.filter((candidate) => {
    const lack = lackOf(candidate.capabilities, needs)
    if (lack) pass(candidate, lack)
    return lack === undefined
  })
  if (able.length === 0) throw notCapable(candidates, needs)
  const priced = able.filter((candidate) => hasPriceForIt(candidate, needs))
  const [named] = isNamed ? candidates : []
  if (named && able.includes(named) && !priced.includes(named))
    throw isKnown(named) ? priceUnknown([named]) : noSuchModel(named)
  if (priced.length === 0) throw priceUnknown(able)
  const affordable = priced.filter((candidate) => isAffordable(candidate, needs))
  const fitting = affordable.length > 0 ? affordable : priced
  const warm = fitting.filter((candidate) => !isCooling(candidate))
  const ready = warm.length > 0 ? warm : fitting
  for (const candidate of able) {
    if (!priced.includes(candidate)) pass(candidate, 'price')
    else if (!fitting.includes(candidate)) pass(candidate, 'cost')
    else if (!ready.includes(candidate)) pass(candidate, 'cooling_down')
  }
  const scored = ready
    .map((candidate) => ({ candidate, value: score(candidate, needs) }))
    .filter(({ candidate, value }) => {
      const isOut = Number.isNaN(value) || value === -Infinity
      if (isOut) pass(candidate, 'score')
      return !isOut
    })
    .toSorted((one, other) => Math.sign(other.value - one.value) || 0)
    .map(({ candidate }) => candidate)
  const [first, ...others] = scored
  if (!first) throw notCapable(candidates, needs)
  for (const candidate of ready) {
    if (scored.includes(candidate) && candidate.priority < first.priority) pass(candidate, 'score')
  }
  const lastResort = fitting.filter((candidate) => !ready.includes(candidate))
  return { candidates: [first, ...others, ...lastResort], passedOver }
}

function notCapable(candidates: readonly ModelCandidate[], needs: ModelNeeds): IsolaError {
  const reasons = candidates.flatMap((candidate) => {
    const lack = lackOf(candidate.capabilities, needs)
    return lack ? [tellLack(candidate, lack, needs)] : []
  })
  const why = reasons.length > 0 ? `: ${reasons.join('; ')}` : ''
  return new IsolaError('model_not_capable', `No model here can take this request${why}.`)
}

function noSuchModel({ provider, model }: ModelCandidate): IsolaError {
  const name = `${provider}/${model}`.slice(0, 200)
  const message =
    `There is no agent or model "${model.slice(0, 200)}" that is known here, and a cost limit is in ` +
    'force: a model that is not listed needs a price. GET /v1/models lists them; an operator gives a price ' +
    `in ISOLA_PRICES: {"${name}":{"input_usd_per_million":0,"output_usd_per_million":0}}.`
  return new IsolaError('model_not_found', message)
}

function priceUnknown(candidates: readonly ModelCandidate[]): IsolaError {
  const names = candidates.map(({ provider, model }) => `${provider}/${model}`.slice(0, 200))
  const [name = ''] = names
  return new IsolaError(
    'model_price_unknown',
    `A cost limit is in force and no price is known of ${names.join(', ')}: it is not asked. Give its price ` +
      'in ISOLA_PRICES (0 if it costs nothing): ' +
      `{"${name}":{"input_usd_per_million":0,"output_usd_per_million":0}}, use a model that has one, or take ` +
      'the limit away.',
  )
}
