import { WorkerEntrypoint } from 'cloudflare:workers'
import type { CallStubs } from './inside/capabilities.ts'
import { runCall, type RunnerParts, type RunnerRequest } from './run-call.ts'

/**
 * The entrypoint between a session and plugin code, one call of `run` for each call of a plugin. Stateless: the
 * plugin's work ends with this request. Every method here is public, so there is only one.
 * @see docs/design.md section 8, Isolates
 */
export function createPluginRunnerClass(parts: () => RunnerParts) {
  return class extends WorkerEntrypoint {
    async run(
      request: RunnerRequest,
      port: CallStubs['port'],
      fetcher: CallStubs['fetcher'],
      closed: CallStubs['closed'],
    ): Promise<string> {
      return runCall(parts(), request, { port, fetcher, closed })
    }
  }
}
