import { ToolError, type Capabilities, type PluginStorage } from 'isola/plugin'
import { findPrice, type Price } from './find-price.ts'

/** Each is a request or two of a call, which may make a hundred. */
export const maxItems = 40
const maxChars = 1_000_000
const prefix = 'item:'

export const toKey = (url: string): string => `${prefix}${url}`

export interface Item {
  readonly url: string
  readonly name: string
  readonly thresholdPercent: number
  /** The price its owner was last told, with which a new one is compared: small steps add up. */
  readonly told: Price
  readonly seen: Price
}

export interface Check {
  readonly item: Item
  /** Absent if the page could not be read. */
  readonly price?: Price
  readonly problem?: string
  /** The price changed by at least the item's threshold. */
  readonly isNews: boolean
}

export async function listItems(storage: PluginStorage): Promise<readonly Item[]> {
  const keys = await storage.list({ prefix, limit: maxItems })
  const values = await Promise.all(keys.map((key) => storage.get(key)))
  return values.flatMap((value) => (value === undefined ? [] : [value as unknown as Item]))
}

/** Reads every watched page, one after the other, and stores what each said. A page that cannot be read stops no other. */
export async function checkAll({
  fetch,
  storage,
  signal,
  progress,
}: Capabilities): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const item of await listItems(storage)) {
    progress(`Checking ${item.name}`)
    const check = await checkOne(item, { fetch, signal })
    checks.push(check)
    const { price, isNews } = check
    if (price && !isSame(price, item.seen))
      await storage.set(toKey(item.url), {
        ...item,
        told: { ...(isNews ? price : item.told) },
        seen: { ...price },
      })
  }
  return checks
}

type Reading = Pick<Capabilities, 'fetch' | 'signal'>

async function checkOne(item: Item, reading: Reading): Promise<Check> {
  try {
    const price = await readPrice(item.url, reading)
    return { item, price, isNews: isNews(item, price) }
  } catch (error) {
    if (reading.signal.aborted) throw error
    const problem = error instanceof ToolError ? error.message : 'it could not be read'
    return { item, problem, isNews: false }
  }
}

const isSame = (a: Price, b: Price) => a.amount === b.amount && a.currency === b.currency

function isNews({ told, thresholdPercent }: Item, price: Price): boolean {
  if (isSame(told, price)) return false
  if (told.currency !== price.currency || told.amount === 0) return true
  return (Math.abs(price.amount - told.amount) / told.amount) * 100 >= thresholdPercent
}

/** The price that a page says it has. Throws a ToolError if it does not answer, or has none. */
export async function readPrice(url: string, { fetch, signal }: Reading): Promise<Price> {
  const response = await fetch(url, { signal, headers: { accept: 'text/html' } })
  if (!response.ok) {
    await response.body?.cancel()
    throw failed(`The page answered ${response.status}.`, response.status >= 500)
  }
  const price = findPrice((await response.text()).slice(0, maxChars))
  if (price) return price
  throw failed('The page names no price (JSON-LD offers, product meta tags or itemprop).')
}

function failed(message: string, transient = false): ToolError {
  return new ToolError('tool_failed', { message, transient })
}
