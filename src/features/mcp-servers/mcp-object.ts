import { DurableObject } from 'cloudflare:workers'
import { lazily } from '#platform/routes/lazily.ts'
import type {
  McpCall,
  McpCaller,
  McpServerApi,
  McpServerConfig,
  McpSigner,
} from '#runtime/catalog/types/mcp.ts'
import type { McpServerRuntime } from './server-parts.ts'

async function loadParts(
  state: DurableObjectState,
  runtimeOf: () => McpServerRuntime,
): Promise<McpServerApi> {
  const { createServerParts } = await import('./server-parts.ts')
  return createServerParts(state, runtimeOf())
}

/**
 * The class behind the `MCP_SERVER` binding: one object a remote server, shared by all sessions, and one a principal
 * where each signs in. Its library is read with the first call of such an object, not at each start of the Worker;
 * calls keep their order.
 */
export function createMcpServerClass(runtimeOf: () => McpServerRuntime) {
  return class extends DurableObject<Env> implements McpServerApi {
    /** Parts that could not be made are made with the next call. */
    readonly #parts = lazily(() => loadParts(this.ctx, runtimeOf))

    async look(config: McpServerConfig) {
      return (await this.#parts()).look(config)
    }

    async standing(config: McpServerConfig) {
      return (await this.#parts()).standing(config)
    }

    async call(call: McpCall, tell: McpCaller['tell'], asked: McpCaller['asked']) {
      return (await this.#parts()).call(call, tell, asked)
    }

    async login(config: McpServerConfig, origin: string, signer?: McpSigner) {
      return (await this.#parts()).login(config, origin, signer)
    }

    async finishLogin(config: McpServerConfig, query: string) {
      return (await this.#parts()).finishLogin(config, query)
    }

    async cameBack(config: McpServerConfig, query: string) {
      return (await this.#parts()).cameBack(config, query)
    }

    async confirmLogin(config: McpServerConfig, code: string) {
      return (await this.#parts()).confirmLogin(config, code)
    }

    async addSigner(principal: string) {
      return (await this.#parts()).addSigner(principal)
    }

    async removeSigner(principal: string): Promise<void> {
      return (await this.#parts()).removeSigner(principal)
    }

    async signers() {
      return (await this.#parts()).signers()
    }

    async reseal() {
      return (await this.#parts()).reseal()
    }

    async cancel(callId: string): Promise<void> {
      return (await this.#parts()).cancel(callId)
    }

    async endSession(rootSession: string): Promise<void> {
      return (await this.#parts()).endSession(rootSession)
    }

    async forget(): Promise<void> {
      return (await this.#parts()).forget()
    }
  }
}
