// What `npm run bench:search -- --workerd` times: the product's index in a Worker. It is built by the first request.
import type { SearchDocument, SearchIndex } from '#contracts/search.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'

let index: SearchIndex | undefined

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/build') index = createSearchIndex(await request.json<SearchDocument[]>())
    if (pathname !== '/search' || !index) return Response.json({ rows: 0 })
    let rows = 0
    index.search([await request.text()], 8, ({ rowsRead }) => (rows = rowsRead))
    return Response.json({ rows })
  },
}
