import { DurableObject } from 'cloudflare:workers'
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
    #loaded: Promise<McpServerApi> | undefined

    /** Parts that could not be made are made with the next call. */
    #parts(): Promise<McpServerApi> {
      return (this.#loaded ??= loadParts(this.ctx, runtimeOf).catch((error: unknown) => {
        this.#loaded = undefined
        throw error
      }))
    }

    async look(config: McpServerConfig): ReturnType<McpServerApi['look']> {
      return (await this.#parts()).look(config)
    }

    async standing(config: McpServerConfig): ReturnType<McpServerApi['standing']> {
      return (await this.#parts()).standing(config)
    }

    async call(
      call: McpCall,
      tell: McpCaller['tell'],
      asked: McpCaller['asked'],
    ): ReturnType<McpServerApi['call']> {
      return (await this.#parts()).call(call, tell, asked)
    }

    async login(
      config: McpServerConfig,
      origin: string,
      signer?: McpSigner,
    ): ReturnType<McpServerApi['login']> {
      return (await this.#parts()).login(config, origin, signer)
    }

    async finishLogin(
      config: McpServerConfig,
      query: string,
    ): ReturnType<McpServerApi['finishLogin']> {
      return (await this.#parts()).finishLogin(config, query)
    }

    async cameBack(config: McpServerConfig, query: string): ReturnType<McpServerApi['cameBack']> {
      return (await this.#parts()).cameBack(config, query)
    }

    async confirmLogin(
      config: McpServerConfig,
      code: string,
    ): ReturnType<McpServerApi['confirmLogin']> {
      return (await this.#parts()).confirmLogin(config, code)
    }

    async addSigner(principal: string): ReturnType<McpServerApi['addSigner']> {
      return (await this.#parts()).addSigner(principal)
    }

    async removeSigner(principal: string): Promise<void> {
      return (await this.#parts()).removeSigner(principal)
    }

    async signers(): ReturnType<McpServerApi['signers']> {
      return (await this.#parts()).signers()
    }

    async reseal(): ReturnType<McpServerApi['reseal']> {
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
