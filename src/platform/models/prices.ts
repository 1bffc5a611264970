import type { KnownPrice, ModelWindow } from './types.ts'
import type { ModelPrice } from '#contracts/model.ts'

/** The vendor of a server, by the end of its host; a host that is not in this list is a gateway. */
const vendorByHost: readonly (readonly [string, string])[] = [
  ['api.openai.com', 'openai'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gemini'],
  ['api.x.ai', 'xai'],
  ['api.mistral.ai', 'mistral'],
  ['api.deepseek.com', 'deepseek'],
  ['api.groq.com', 'groq'],
  ['api.perplexity.ai', 'perplexity'],
  ['api.moonshot.ai', 'moonshot'],
  ['api.z.ai', 'zai'],
  ['dashscope-intl.aliyuncs.com', 'dashscope'],
  ['openrouter.ai', 'openrouter'],
  ['api.cloudflare.com', 'cloudflare'],
]

/** How gateways spell the makers whose models cost the same wherever they are sold. */
const makerByPrefix: Readonly<Record<string, string>> = {
  openai: 'openai',
  azure: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  gemini: 'gemini',
  'google-ai-studio': 'gemini',
  'x-ai': 'xai',
  xai: 'xai',
}
const makers = [...new Set(Object.values(makerByPrefix))]

export function vendorOf(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return 'openai'
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return vendorByHost.find(([end]) => host === end || host.endsWith(`.${end}`))?.[1]
}

/**
 * The names `<vendor>/<name>` under which a server's model may be in the price file, best first. At a vendor's own
 * server only that vendor's prices count. At a gateway a prefix must name the vendor; a bare name counts only for
 * makers whose models no other host prices: open weights cost something else at each host. A version's date makes no
 * difference where the file has no such version.
 */
function vendorNames(vendor: string | undefined): (model: string) => readonly string[] {
  return (model) => {
    const names =
      vendor === undefined
        ? [...(model.includes('/') ? [model] : []), ...namesOfMaker(model)]
        : [`${vendor}/${model}`, ...(vendor === 'openrouter' ? namesOfMaker(model) : [])]
    return names.flatMap((name) => [name, withoutDate(name)])
  }
}

function namesOfMaker(model: string): readonly string[] {
  const [name = '', prefix] = model.split('/').toReversed()
  if (prefix === undefined) return makers.map((maker) => `${maker}/${name}`)
  return Object.hasOwn(makerByPrefix, prefix) ? [`${makerByPrefix[prefix]}/${name}`] : []
}

/** A version's name as that of its model. */
export const withoutDate = (name: string): string =>
  name.replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')

/**
 * A line of the price file, US dollars per million tokens: for input and output, how many tokens go in and come out
 * (`null` if the file does not say), the model's key there (`null` if it is the usual one), and what it costs above so
 * many input tokens.
 */
export type PriceRow = readonly [
  inputUsdPerMillion: number,
  outputUsdPerMillion: number,
  maxInputTokens: number | null,
  maxOutputTokens: number | null,
  key: string | null,
  ...above: readonly Tier[],
]
type Tier = readonly [inputTokens: number, inputUsdPerMillion: number, outputUsdPerMillion: number]

/** A public price list of one day, by `<vendor>/<name>`. */
export interface PriceFile {
  readonly repository: string
  readonly path: string
  readonly commit: string
  /** `of 2026-11-20`, the commit's day, or `read on 2026-11-22`. */
  readonly date: string
  readonly models: Readonly<Record<string, PriceRow>>
}

/** The price of one provider's model; `undefined` if it is not known. */
export type PriceOf = (model: string) => KnownPrice | undefined
export type WindowOf = (model: string) => ModelWindow | undefined

/**
 * Billionths of a US dollar for one call, an integer, rounded up once. Where long inputs are dearer, all tokens of a
 * call whose input passes the threshold are: no bill comes out above this.
 */
export function costOf(price: ModelPrice, inputTokens: number, outputTokens: number): number {
  const tier = price.above?.findLast((above) => inputTokens > above.inputTokens) ?? price
  // USD per million tokens is 1,000 nano-USD a token. Millionths keep fractions of those exact.
  const perInput = Math.round(tier.inputUsdPerMillion * 1e6)
  const perOutput = Math.round(tier.outputUsdPerMillion * 1e6)
  return Math.ceil((inputTokens * perInput + outputTokens * perOutput) / 1_000)
}

/** Prices that the operator gave, by a model's exact name. */
export const givenPrices =
  (models: Readonly<Record<string, ModelPrice>>, source: string): PriceOf =>
  (model) => {
    const price = firstOf(models, [model])
    return price && { ...price, source }
  }

/** The first that knows the model decides. */
export const firstPriceOf =
  (...all: readonly PriceOf[]): PriceOf =>
  (model) => {
    for (const priceOf of all) {
      const price = priceOf(model)
      if (price) return price
    }
    return undefined
  }

/**
 * Reads the file for a vendor's server; `undefined` is a gateway. A vendor's free model is free at its own server
 * only. Long inputs without a router's price cost there what the model's maker asks.
 */
export function readPriceFile(file: PriceFile, vendor: string | undefined) {
  const source = sourceOf(file)
  const namesOf = vendorNames(vendor)
  const priceOf: PriceOf = (model) => {
    const found = findRow(file, namesOf(model))
    if (!found) return undefined
    const { name, row, key } = found
    const [inputUsdPerMillion, outputUsdPerMillion] = row
    if (inputUsdPerMillion + outputUsdPerMillion === 0 && vendorIn(name) !== vendor)
      return undefined
    const others = namesOf(model).filter((one) => vendorIn(one) !== vendorIn(name))
    const maker = findRow(file, others)
    const above = tiersOver(maker ? [row, maker.row] : [row])
    return {
      inputUsdPerMillion,
      outputUsdPerMillion,
      ...(above.length > 0 && {
        above: above.map(([inputTokens, input, output]) => ({
          inputTokens,
          inputUsdPerMillion: input,
          outputUsdPerMillion: output,
        })),
      }),
      source: `${source}: ${key}${maker && maker.row.length > 5 ? `, long inputs: ${maker.key}` : ''}`,
    }
  }
  const windowOf: WindowOf = (model) => {
    const found = findRow(file, namesOf(model))
    if (!found) return undefined
    const { row, key } = found
    const [, , maxInputTokens, maxOutputTokens] = row
    return {
      ...(maxInputTokens !== null && { contextTokens: maxInputTokens }),
      ...(maxOutputTokens !== null && { maxOutputTokens }),
      source: `${source}: ${key}`,
    }
  }
  return { priceOf, windowOf }
}

/** The first of these names that the file has. */
function findRow({ models }: PriceFile, names: readonly string[]) {
  const name = names.find((one) => Object.hasOwn(models, one))
  const row = name === undefined ? undefined : models[name]
  return name !== undefined && row ? { name, row, key: row[4] ?? usualKey(name) } : undefined
}

/** Vendors whose models the file has by their names alone. */
const unprefixed = ['anthropic', 'openai']

/** The file's key for `<vendor>/<name>`, if it follows the pattern of the vendor's other models. */
export const usualKey = (name: string): string => {
  const [vendor = '', ...rest] = name.split('/')
  return unprefixed.includes(vendor) ? rest.join('/') : name
}

/** The tiers that hold whichever of the rows a bill is by: at each threshold the dearest of each price. */
export function tiersOver(rows: readonly PriceRow[]): readonly Tier[] {
  const thresholds = rows.flatMap(([, , , , , ...above]) => above.map(([tokens]) => tokens))
  return [...new Set(thresholds)]
    .toSorted((a, b) => a - b)
    .map((tokens) => {
      const prices = rows.map(([input, output, , , , ...above]) => {
        const base: Tier = [0, input, output]
        return above.findLast(([from]) => from <= tokens) ?? base
      })
      const most = (at: 1 | 2) => Math.max(...prices.map((tier) => tier[at]))
      return [tokens, most(1), most(2)]
    })
}

const vendorIn = (name: string): string | undefined => name.split('/')[0]

/** As an operator reads it. */
export const sourceOf = ({ repository, commit, date }: PriceFile): string =>
  `${repository}@${commit.slice(0, 9)} (${date})`

/** Own entries only: a name is a stranger's word. */
const firstOf = <T>(
  entries: Readonly<Record<string, T>>,
  names: readonly string[],
): T | undefined =>
  names.filter((name) => Object.hasOwn(entries, name)).map((name) => entries[name])[0]
