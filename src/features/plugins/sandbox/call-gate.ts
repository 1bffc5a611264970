import type { CallStubs } from './inside/capabilities.ts'

/** What one call may ask of the host. */
export const callCaps = {
  maxPortCalls: 1_000,
  maxFetches: 100,
  /** Of one question: a value of 1 MiB as JSON, escaped, and its key. */
  maxJsonChars: 2_200_000,
} as const

/** What stands between a plugin and what it was handed in one call. */
export interface CallGate {
  readonly stubs: CallStubs
  /** Resolves with the reason when the plugin asked more than a call may. */
  readonly exceeded: Promise<string>
  readonly isOpen: () => boolean
  /** After this every stub answers that the call is over, also one that was kept. */
  readonly close: () => void
}

const over = refusal('This call is over.')

/**
 * Stands between an isolate and the session's object, in the Runner: a flood, an odd argument or a stub that was kept
 * never gets there. Refusals are data: an error of ours would show where it was thrown.
 */
export function createCallGate({ port, fetcher, closed }: CallStubs): CallGate {
  const state = { isOpen: true, portCalls: 0, fetches: 0 }
  let exceed: (reason: string) => void = () => {}
  const exceeded = new Promise<string>((resolve) => (exceed = resolve))
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && value.length <= callCaps.maxJsonChars
  const close = (): void => {
    state.isOpen = false
    end()
  }
  /** A session that is gone is no error of the plugin's, and says nothing. */
  const served = async <T>(work: Promise<T>): Promise<T | string> => {
    const answer = await work.catch(() => unserved)
    return state.isOpen ? answer : over
  }
  const count = (of: 'portCalls' | 'fetches', max: number, what: string): boolean => {
    state[of] += 1
    if (state[of] <= max) return true
    exceed(`made more than ${max} ${what}`)
    return false
  }
  return {
    exceeded,
    isOpen: () => state.isOpen,
    close,
    stubs: {
      port: async (verb, json) => {
        if (!state.isOpen) return over
        if (!count('portCalls', callCaps.maxPortCalls, 'calls of the host')) return tooMany
        if (!isText(verb) || !isText(json)) return oddArguments
        return served(port(verb, json))
      },
      fetcher: async (json) => {
        if (!state.isOpen) return over
        if (!count('fetches', callCaps.maxFetches, 'requests')) return tooMany
        if (!isText(json)) return oddArguments
        return served(fetcher(json))
      },
      closed: async () => {
        if (!state.isOpen || !count('portCalls', callCaps.maxPortCalls, 'calls of the host')) return
        await Promise.race([closed(), ended])
      },
    },
  }
}

/** A refusal as the port answers it. */
export function refusal(message: string, transient = false): string {
  return JSON.stringify({ error: { message, transient } })
}

const unserved = refusal('The host did not answer.', true)
const tooMany = refusal('This call has asked too much.')
const oddArguments = refusal('Arguments are JSON text of at most 2 MiB.')
