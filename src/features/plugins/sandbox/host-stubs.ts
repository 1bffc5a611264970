import * as z from 'zod'
import { headOf } from '#contracts/cut.ts'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import { NotJsonError, toJson } from './json-border.ts'
import { refusal } from './call-gate.ts'
import type { CallStubs } from './inside/capabilities.ts'
import { defined } from '#contracts/defined.ts'

/**
 * The three functions that an isolate gets with a call. They use the same capabilities as the in-process host:
 * refusals have the same words, and all functions are dead after the call.
 *
 * @param signal Ends the call from the host's side.
 */
export function createHostStubs(capabilities: Capabilities, signal: AbortSignal): CallStubs {
  return {
    port: async (name, json) => {
      try {
        // Imported with the first call: the module is large, and many deployments have no plugin that needs it.
        const { verbOf } = await import('./host-verbs.ts')
        const serve = verbOf(name, capabilities)
        if (!serve) return refusal(`There is no verb "${headOf(String(name), 64)}".`)
        const value = await serve(parseForeignJson(json))
        return JSON.stringify(value === undefined ? {} : { value: toJson(value) })
      } catch (error) {
        return toRefusal(error)
      }
    },
    fetcher: async (json) => {
      try {
        const { request } = await import('./host-verbs.ts')
        const { url, ...init } = request.parse(parseForeignJson(json))
        return await capabilities.fetch(url, defined(init))
      } catch (error) {
        return toRefusal(error)
      }
    },
    closed: () =>
      new Promise((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
}

function toRefusal(error: unknown): string {
  if (error instanceof z.ZodError)
    return refusal(headOf(`Arguments: ${z.prettifyError(error)}`, 500))
  if (error instanceof SyntaxError) return refusal('Arguments are JSON.')
  if (error instanceof NotJsonError) return refusal(headOf(error.message, 500))
  if (errorCode(error) !== 'tool_failed') return refusal('The host could not do this.')
  const transient = (error as { readonly transient?: unknown }).transient === true
  return refusal(headOf(errorMessage(error), 2_000), transient)
}
