import type { CallStubs } from './inside/capabilities.ts'

/** How many requests one call may make to the host. */
export const callCaps = {
  maxPortCalls: 1_000,
  maxFetches: 100,
  /** Length of one request: a value of 1 MiB as JSON, escaped, and its key. */
  maxJsonChars: 2_200_000,
} as const

const over = refusal('This call is over.')

/**
 * Guards the session's object from an isolate, in the Runner: floods, odd arguments and late calls are stopped here.
 * Refusals are data: an error of ours would reveal its stack.
 */
export function createCallGate({ port, fetcher, closed }: CallStubs) {
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
  /** An unreachable session is not the plugin's fault, and reveals nothing. */
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
  const stubs: CallStubs = {
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
  }
  return {
    stubs,
    /** Resolves with the reason when the plugin exceeds a limit. */
    exceeded,
    isOpen: () => state.isOpen,
    /** Afterwards every stub answers that the call is over, also a stub that the plugin kept. */
    close,
  }
}

/** A refusal in the port's form. */
export function refusal(message: string, transient = false): string {
  return JSON.stringify({ error: { message, transient } })
}

const unserved = refusal('The host did not answer.', true)
const tooMany = refusal('This call has asked too much.')
const oddArguments = refusal('Arguments are JSON text of at most 2 MiB.')
