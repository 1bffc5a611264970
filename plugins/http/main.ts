import { ToolError, type Capabilities, type Plugin } from 'isola/plugin'
import { readText } from './read-text.ts'

const defaultMaxChars = 16_000
const tries = 2
const backoffMs = 250

/** Statuses of faults that may pass: a second GET is worth its time. */
const isTransient = (status: number): boolean => status === 429 || status >= 500

const register: Plugin = () => ({
  tools: {
    async get({ url, headers, max_chars: maxChars = defaultMaxChars }, { fetch, signal }) {
      const response = await getWithRetry(
        () => fetch(url, { signal, ...(headers && { headers }) }),
        signal,
      )
      if (!response.ok) {
        throw new ToolError('tool_failed', {
          message: `The page answered ${response.status}.`,
          transient: isTransient(response.status),
        })
      }
      return toAnswer(response, maxChars)
    },
    async request(
      { method, url, headers, body, max_chars: maxChars = defaultMaxChars },
      { fetch, signal },
    ) {
      const response = await fetch(url, {
        method,
        signal,
        ...(headers && { headers }),
        ...(body !== undefined && { body }),
      })
      return toAnswer(response, maxChars)
    },
  },
})

export default register

async function getWithRetry(send: () => ReturnType<Capabilities['fetch']>, signal: AbortSignal) {
  for (let left = tries - 1; ; left -= 1) {
    try {
      const response = await send()
      if (left === 0 || !isTransient(response.status)) return response
      await response.body?.cancel()
    } catch (error) {
      if (
        left === 0 ||
        signal.aborted ||
        !(error instanceof Error && 'transient' in error && error.transient)
      )
        throw error
    }
    await new Promise((resolve) => setTimeout(resolve, backoffMs))
    if (signal.aborted) throw new ToolError('tool_failed', { message: 'The request was aborted.' })
  }
}

async function toAnswer(response: Response, maxChars: number) {
  const contentType = response.headers.get('content-type') ?? ''
  const { text, truncated } = await readText(response, maxChars)
  return {
    status: response.status,
    content_type: contentType,
    text,
    ...(truncated && { truncated }),
  }
}
