import { AsyncLocalStorage } from 'node:async_hooks'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import { askSchema } from '#contracts/asks.ts'
import type { Json } from '#contracts/json.ts'
import type { McpAsked, McpCaller } from '#contracts/mcp.ts'

/** What a server asked, as it came: parsed here, answered by whoever made the call. */
export type AskedRaw =
  | { readonly kind: 'elicit'; readonly params: object }
  | { readonly kind: 'sample'; readonly params: object }

type Answer = (asked: McpAsked) => Promise<Json>

/**
 * Which call a server asks about. Many go over one connection, and the protocol does not say; but a server asks over the
 * stream of that very call, which is read in the context of the call's own work.
 */
export function createInCall() {
  const calls = new AsyncLocalStorage<Answer>()
  const under = new Set<Answer>()

  /** Servers of 2025-11-25 may ask over the stream of the session as well: with one call under way it is that one's. */
  const onlyOne = (): Answer | undefined => (under.size === 1 ? [...under][0] : undefined)

  return {
    /** Answers what a server asks; refuses what is asked outside of a call, or in words that nobody here knows. */
    answer: async (raw: AskedRaw): Promise<Json> => {
      const answer = calls.getStore() ?? onlyOne()
      if (!answer) throw refusal('It is not known which call this is about.')
      const asked = askSchema.safeParse(toAsked(raw))
      if (!asked.success || asked.data.kind === 'roots') throw refusal('This cannot be asked here.')
      return answer(asked.data)
    },
    /** Does the work of one call. What has to wait for somebody ends it, once all that is asked together was heard. */
    async run<T>(
      asked: McpCaller['asked'],
      stop: AbortController,
      work: () => Promise<T>,
    ): Promise<T> {
      let open = 0
      let isLater = false
      const answer: Answer = async (what) => {
        open += 1
        const said = await asked(what).finally(() => (open -= 1))
        isLater ||= said.state === 'later'
        if (isLater && open === 0) stop.abort('later')
        if (said.state === 'answered') return said.answer
        if (said.state === 'refused') throw refusal(said.why)
        // An error would be an answer, and the server would go on with it.
        return new Promise<never>(() => {})
      }
      under.add(answer)
      try {
        return await calls.run(answer, work)
      } finally {
        under.delete(answer)
      }
    },
  }
}

const refusal = (why: string) => new ProtocolError(ProtocolErrorCode.InvalidRequest, why)

/** A page to open (`url`) and tools for the model are not among what may be asked. */
function toAsked({ kind, params }: AskedRaw): unknown {
  const given = params as Readonly<Record<string, unknown>>
  if (kind === 'elicit') {
    const { mode = 'form', message, requestedSchema: schema } = given
    return mode === 'form' ? { kind, message, schema } : undefined
  }
  const { messages, maxTokens, systemPrompt: system, temperature, tools } = given
  return tools === undefined ? { kind, messages, maxTokens, system, temperature } : undefined
}
