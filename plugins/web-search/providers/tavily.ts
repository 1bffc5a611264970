import { listAt, type Provider } from '../results.ts'

/** @see https://docs.tavily.com/documentation/api-reference/endpoint/search */
export const tavily: Provider = {
  secret: 'TAVILY_API_KEY',
  toRequest({ query, count, freshness }, { ref }) {
    return {
      url: 'https://api.tavily.com/search',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${ref('TAVILY_API_KEY')}`,
      },
      body: JSON.stringify({
        query,
        max_results: count,
        ...(freshness && { time_range: freshness }),
      }),
    }
  },
  toItems: (answer) =>
    listAt(answer, 'results').map(({ title, url, content, published_date: date }) => ({
      title,
      url,
      snippet: content,
      date,
    })),
}
