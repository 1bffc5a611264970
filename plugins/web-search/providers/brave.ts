import { listAt, type Provider } from '../results.ts'

const freshnessCodes = { day: 'pd', week: 'pw', month: 'pm', year: 'py' } as const

/** @see https://api-dashboard.search.brave.com/api-reference/web/search/get */
export const brave: Provider = {
  secret: 'BRAVE_API_KEY',
  toRequest({ query, count, freshness }, { ref }) {
    const url = new URL('https://api.search.brave.com/res/v1/web/search')
    url.searchParams.set('q', query)
    url.searchParams.set('count', String(count))
    url.searchParams.set('result_filter', 'web')
    if (freshness) url.searchParams.set('freshness', freshnessCodes[freshness])
    const headers = { accept: 'application/json', 'x-subscription-token': ref('BRAVE_API_KEY') }
    return { url: url.href, method: 'GET', headers }
  },
  toItems: (answer) =>
    listAt(answer, 'web', 'results').map(({ title, url, description, page_age: date }) => ({
      title,
      url,
      snippet: description,
      date,
    })),
}
