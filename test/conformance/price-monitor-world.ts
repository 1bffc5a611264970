import type { FakeDeps } from '../fakes/plugins.ts'

/** A shop whose prices the test changes; a page without a price, one that is gone, one that never answers. */
export function createShop() {
  const prices = new Map<string, string>([
    ['/kettle', '40.00'],
    ['/lamp', '10.00'],
  ])
  const deps = {
    fetch: async (url, init) => {
      const { pathname } = new URL(url)
      if (pathname === '/hang')
        return new Promise((_resolve, reject) =>
          init.signal?.addEventListener('abort', () => reject(new Error('stopped'))),
        )
      const price = prices.get(pathname)
      if (pathname === '/plain') return new Response('<html>40 EUR</html>')
      if (price === undefined) return new Response('no', { status: 404 })
      const offer = { '@type': 'Product', offers: { price, priceCurrency: 'EUR' } }
      return new Response(
        `<html><script type="application/ld+json">${JSON.stringify(offer)}</script></html>`,
      )
    },
  } satisfies FakeDeps
  return { deps, prices }
}
