export interface Price {
  readonly amount: number
  /** ISO 4217, or empty if the page does not say. */
  readonly currency: string
}

const maxBlocks = 50
const maxNodes = 5_000

/** The price a product page names for machines: schema.org JSON-LD first, then meta tags, then microdata. */
export function findPrice(html: string): Price | undefined {
  return inJsonLd(html) ?? inMeta(html) ?? inMicrodata(html)
}

/** By indexOf: a page must not be able to make a pattern slow. */
function inJsonLd(html: string): Price | undefined {
  let at = 0
  for (let block = 0; block < maxBlocks; block += 1) {
    const kind = html.indexOf('application/ld+json', at)
    const start = kind === -1 ? -1 : html.indexOf('>', kind)
    const end = start === -1 ? -1 : html.indexOf('</script', start)
    if (end === -1) return undefined
    const price = offerIn(parseJson(html.slice(start + 1, end)))
    if (price) return price
    at = end
  }
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first object with a price, outermost first. */
function offerIn(root: unknown): Price | undefined {
  const open: unknown[] = [root]
  for (let index = 0; index < open.length && index < maxNodes; index += 1) {
    const node = open[index]
    if (typeof node !== 'object' || node === null) continue
    const { price, lowPrice, priceCurrency } = node as Readonly<Record<string, unknown>>
    const amount = toAmount(price ?? lowPrice)
    if (amount !== undefined) return { amount, currency: toCurrency(priceCurrency) }
    open.push(...Object.values(node).slice(0, maxNodes))
  }
  return undefined
}

function inMeta(html: string): Price | undefined {
  const metas = new Map<string, string>()
  for (const [tag] of html.matchAll(/<meta\s[^<>]{1,500}>/gi)) {
    const name = attribute(tag, 'property') ?? attribute(tag, 'name')
    const content = attribute(tag, 'content')
    if (name && content && !metas.has(name)) metas.set(name, content)
  }
  const of = (kind: string) => metas.get(`product:price:${kind}`) ?? metas.get(`og:price:${kind}`)
  const amount = toAmount(of('amount'))
  return amount === undefined ? undefined : { amount, currency: toCurrency(of('currency')) }
}

function inMicrodata(html: string): Price | undefined {
  const found: Record<string, string | undefined> = {}
  for (const [tag] of html.matchAll(/<[a-z]{1,20}\s[^<>]{1,500}>/gi)) {
    const name = attribute(tag, 'itemprop')
    if (name === 'price' || name === 'priceCurrency') found[name] ??= attribute(tag, 'content')
  }
  const amount = toAmount(found['price'])
  return amount === undefined ? undefined : { amount, currency: toCurrency(found['priceCurrency']) }
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}\\s?=\\s?["']([^"']{1,300})["']`, 'i').exec(tag)?.[1]
}

/** `1299`, `1,299.00`, `1.299,00 €`, `12,5`: the last of comma and point before one or two digits is the decimal one. */
export function toAmount(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined
  if (typeof value !== 'string' || value.length > 100) return undefined
  const digits = value.replaceAll(/[^\d.,]/g, '')
  const decimals = /[.,](\d{1,2})$/.exec(digits)
  const whole = (decimals ? digits.slice(0, decimals.index) : digits).replaceAll(/[.,]/g, '')
  if (whole === '' || !/^\d{1,12}$/.test(whole)) return undefined
  return Number(`${whole}.${decimals?.[1] ?? '0'}`)
}

function toCurrency(value: unknown): string {
  return typeof value === 'string' && /^[A-Z]{3}$/.test(value.trim()) ? value.trim() : ''
}
