import { ToolError, type Plugin } from 'isola/plugin'
import { brave } from './providers/brave.ts'
import { searxng } from './providers/searxng.ts'
import { tavily } from './providers/tavily.ts'
import { toResults, type Freshness, type Provider } from './results.ts'

const providers: Readonly<Record<string, Provider>> = { brave, tavily, searxng }
const defaultCount = 5

const register: Plugin = ({ config }) => ({
  tools: {
    async search({ query, count = defaultCount, freshness }, { fetch, secrets, signal }) {
      const name = String(config['provider'])
      const provider = providers[name]
      if (!provider) throw failed(`There is no provider ${name}: brave, tavily or searxng.`)
      const request = provider.toRequest(
        { query: String(query), count: Number(count), freshness: freshness as Freshness },
        { ref: secrets.ref, config },
      )
      const { url, ...init } = request
      const response = await fetch(url, { ...init, signal })
      if (!response.ok) {
        await response.body?.cancel()
        throw refused(name, response.status, provider.secret)
      }
      const found = toResults(provider.toItems(await readJson(response, name)))
      return { provider: name, results: found.slice(0, count) }
    },
  },
})

export default register

async function readJson(response: Response, name: string): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    throw failed(`${name} answered something that is not JSON.`)
  }
}

function refused(name: string, status: number, secret: string | undefined): ToolError {
  const isRefusal = status === 401 || status === 403
  if (isRefusal && secret)
    return failed(
      `${name} refused the key (${status}). The operator sets a new one: isola secret set ${secret}`,
    )
  if (isRefusal)
    return failed(
      `${name} refused (${status}). SearXNG answers JSON only if its settings.yml has json under search.formats.`,
    )
  // Tavily: 432 and 433 say that the plan or its budget is used up.
  if ([402, 432, 433].includes(status))
    return failed(`${name}: the plan of the key is used up (${status}).`)
  return failed(`${name} answered ${status}.`, status === 429 || status >= 500)
}

function failed(message: string, transient = false): ToolError {
  return new ToolError('tool_failed', { message, transient })
}
