import { ToolError } from 'isola/plugin'
import { listAt, type Provider } from '../results.ts'

/** A server of the operator's own. @see https://docs.searxng.org/dev/search_api.html */
export const searxng: Provider = {
  toRequest({ query, freshness }, { config }) {
    const base = config['searxng_url']
    if (typeof base !== 'string' || !URL.canParse(base))
      throw new ToolError('tool_failed', {
        message:
          'There is no searxng_url in the config of web-search: the operator adds one to plugin.yaml, and its host to grants.network.',
      })
    const url = new URL(base)
    url.pathname = `${url.pathname.replace(/\/(search)?$/, '')}/search`
    url.searchParams.set('q', query)
    url.searchParams.set('format', 'json')
    if (freshness) url.searchParams.set('time_range', freshness)
    return { url: url.href, method: 'GET', headers: { accept: 'application/json' } }
  },
  toItems: (answer) =>
    listAt(answer, 'results').map(({ title, url, content, publishedDate: date }) => ({
      title,
      url,
      snippet: content,
      date,
    })),
}
