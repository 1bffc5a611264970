export interface ModelPrice {
  readonly inputUsdPerMillion: number
  readonly outputUsdPerMillion: number
}

export interface PriceList {
  /** The month the figures are from. */
  readonly asOf: string
  readonly models: Readonly<Record<string, ModelPrice>>
}

/** Billionths of a US dollar for one call; `undefined` if the model has no price. An integer, rounded up once. */
export type CostOf = (
  model: string,
  inputTokens: number,
  outputTokens: number,
) => number | undefined

/** Prices by model name; a version's date (`-2024-07-18`) and a vendor's prefix (`openai/`) make no difference. */
export function createCostOf({ models }: PriceList): CostOf {
  return (model, inputTokens, outputTokens) => {
    const price = priceOf(models, model)
    if (!price) return undefined
    // USD per million tokens is 1,000 nano-USD a token. Millionths keep fractions of those exact.
    const perInput = Math.round(price.inputUsdPerMillion * 1e6)
    const perOutput = Math.round(price.outputUsdPerMillion * 1e6)
    return Math.ceil((inputTokens * perInput + outputTokens * perOutput) / 1_000)
  }
}

function priceOf(models: PriceList['models'], model: string): ModelPrice | undefined {
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')
  return [model, name].filter((key) => Object.hasOwn(models, key)).map((key) => models[key])[0]
}
