import { AsyncLocalStorage } from 'node:async_hooks'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import { askSchema } from '#runtime/kernel/types/asks.ts'
import type { Json } from '#contracts/json.ts'
import type { McpAnswered, McpAsked, McpCaller } from '#runtime/catalog/types/mcp.ts'
import { untilAborted } from './until-aborted.ts'

/** A server's question, as it came: parsed here, answered by the caller of the tool. */
export interface AskedRaw {
  readonly kind: 'elicit' | 'sample'
  readonly params: object
}

type Answer = (asked: McpAsked) => Promise<Json>

/** So much is heard of one call: each question is work for its caller. */
const maxHeard = 32

/**
 * Which call of a connection a server asks about. Many go over one, and the protocol does not say; but a server asks
 * over
 * the stream of that very call, which is read in the context of the call's own work.
 */
export function createInCall() {
  const calls = new AsyncLocalStorage<Answer>()
  const under = new Set<Answer>()
  /** Each call of this session began after the one before had its answer: nothing of an older one can come yet. */
  let isClean = true

  /**
   * Servers of 2025-11-25 may ask over the stream of the session as well, which can only be about the one call there
   * is.
   */
  const onlyOne = (): Answer | undefined =>
    isClean && under.size === 1 ? [...under][0] : undefined

  return {
    isClean: () => isClean,
    /**
     * Answers a server's question. Refuses a question that belongs to no call under way, or that has an unknown form.
     */
    answer: async (raw: AskedRaw): Promise<Json> => {
      const answer = calls.getStore() ?? onlyOne()
      if (!answer || !under.has(answer)) throw refusal('It is not known which call this is about.')
      const asked = askSchema.safeParse(toAsked(raw))
      if (!asked.success || asked.data.kind === 'roots') throw refusal('This cannot be asked here.')
      return answer(asked.data)
    },
    /**
     * Does the work of one call. A question that has to wait for a person ends it, after all questions of the same
     * moment have arrived.
     */
    async run<T>(
      asked: McpCaller['asked'],
      stop: AbortController,
      work: () => Promise<T>,
    ): Promise<T> {
      const answer = createAnswer(asked, stop)
      if (under.size > 0) isClean = false
      under.add(answer)
      try {
        // The library waits for what a handler answers, whatever became of the call.
        return await untilAborted(calls.run(answer, work), stop.signal)
      } catch (error) {
        // A late or repeated question of this call could meet the next call.
        isClean = false
        throw error
      } finally {
        under.delete(answer)
      }
    },
  }
}
/** The calls under way over one connection, for whatever the server asks in them. */
export type InCall = ReturnType<typeof createInCall>

function createAnswer(asked: McpCaller['asked'], stop: AbortController): Answer {
  let heard = 0
  let open = 0
  let isLater = false
  const ask = async (what: McpAsked): Promise<McpAnswered> => {
    try {
      return await asked(what)
    } catch {
      return { state: 'refused', why: 'Nobody is there to answer.' }
    }
  }
  return async (what) => {
    heard += 1
    if (heard > maxHeard) throw refusal('Too much is asked in one call.')
    open += 1
    const said = await ask(what)
    open -= 1
    isLater ||= said.state === 'later'
    if (isLater && open === 0) stop.abort('later')
    if (said.state === 'answered') return said.answer
    if (said.state === 'refused') throw refusal(said.why)
    // An error would be an answer, and the server would go on with it.
    return new Promise<never>(() => {})
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
