import { platformPrices } from './types.ts'
import { platformUnits, type PlatformAmounts } from '#contracts/platform.ts'

/** SQL of the price of amounts, given as SQL of their JSON. */
export const platformNanoUsdOf = (json: string): string =>
  `CAST(round(${platformUnits
    .filter((unit) => platformPrices[unit] > 0)
    .map((unit) => `coalesce((${json})->>'${unit}', 0) * ${platformPrices[unit]}`)
    .join(' + ')}) AS INTEGER)`

/** The sums of all units over rows that have `platform`, as one JSON object. */
export const platformSums = `json_object(${platformUnits
  .map((unit) => `'${unit}', sum(coalesce(platform->>'${unit}', 0))`)
  .join(', ')})`

/** Parses such an object; amounts of zero are left out. */
export function toPlatform(text: string | null | undefined): PlatformAmounts {
  const amounts = JSON.parse(text ?? '{}') as Record<string, number | null>
  return Object.fromEntries(
    platformUnits.flatMap((unit) => (amounts[unit] ? [[unit, amounts[unit]]] : [])),
  )
}
