import type { Price } from './find-price.ts'
import type { Check } from './watched.ts'

export const describePrice = ({ amount, currency }: Price): string =>
  `${amount.toFixed(2)} ${currency}`.trim()

/** One line about one page. */
export function describeChange({ item, price, problem }: Check): string {
  const { name, url, told } = item
  if (!price) return `${name}: ${problem ?? 'no price'} ${url}`
  const isComparable = told.currency === price.currency && told.amount > 0
  const percent = isComparable ? ((price.amount - told.amount) / told.amount) * 100 : 0
  if (told.amount === price.amount && told.currency === price.currency)
    return `${name}: ${describePrice(price)}, unchanged ${url}`
  const by = isComparable ? ` (${percent > 0 ? '+' : ''}${percent.toFixed(1)} %)` : ''
  return `${name}: ${describePrice(told)} → ${describePrice(price)}${by} ${url}`
}
