import { DurableObject } from 'cloudflare:workers'
import type {
  McpCall,
  McpCaller,
  McpListing,
  McpLogin,
  McpServerApi,
  McpServerConfig,
  McpStanding,
} from '#contracts/mcp.ts'
import { toReply, type Reply } from '#contracts/reply.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { createSealedStore, resealAll, type Seal } from './oauth/sealed-store.ts'
import { createSignIn } from './oauth/sign-in.ts'
import type { SignInDeps } from './oauth/sign-in-deps.ts'
import { replied } from './replied.ts'
import { createServerLink, type LinkDeps } from './server-link.ts'

/** What the object of a server takes from outside. */
export interface McpServerRuntime
  extends Omit<LinkDeps, 'providerOf'>, Pick<SignInDeps, 'secret' | 'onSignedIn'> {
  readonly sealing: Seal
  /** Told each token before anybody has it: no log may hold it. */
  readonly learn: (value: string) => void
}

/** The class behind the `MCP_SERVER` binding: one object a remote server, shared by all sessions. */
export function createMcpServerClass(runtimeOf: () => McpServerRuntime) {
  return class extends DurableObject<Env> implements McpServerApi {
    readonly #runtime = runtimeOf()
    readonly #link: ReturnType<typeof createServerLink> = createServerLink(this.ctx.storage.kv, {
      ...this.#runtime,
      providerOf: (config) => this.#signIn.providerOf(config),
    })
    readonly #signIn = createSignIn({
      ...this.#runtime,
      learn: (value) => this.#learn(value),
      nowMs: this.#runtime.clock.nowMs,
      connectDeps: (config) => this.#link.connectDeps(config),
      storeOf: ({ id, url }) => {
        const { sealing, sha256 } = this.#runtime
        return createSealedStore(this.ctx.storage.kv, sealing, sha256(`${id} ${url}`), (value) =>
          this.#learn(value),
        )
      },
    })

    #learn(value: string): void {
      this.#runtime.learn(value)
      this.#link.learn(value)
    }

    readonly #about = ({ id, auth }: McpServerConfig) => ({
      id,
      auth,
      fromText: this.#link.fromText,
    })

    look(config: McpServerConfig): Promise<Reply<McpListing>> {
      return replied(this.#about(config), () => this.#link.look(config))
    }

    async standing(config: McpServerConfig): Promise<McpStanding> {
      const listing = this.#link.seenOf(config)
      if (config.auth !== 'oauth') return { ...(listing && { listing }), login: 'none' }
      const login = (await this.#signIn.isSignedIn(config)) ? 'signed_in' : 'signed_out'
      return { ...(listing && { listing }), login }
    }

    call(call: McpCall, tell: McpCaller['tell'], asked: McpCaller['asked']): Promise<ToolResult> {
      return this.#link.call(call, {
        // A caller that is gone hears nothing more, and that is no fault of the call.
        tell: (progress) => void Promise.resolve(tell(progress)).catch(() => {}),
        asked,
      })
    }

    login(config: McpServerConfig, origin: string): Promise<Reply<McpLogin>> {
      return replied(this.#about(config), () => this.#signIn.begin(config, origin))
    }

    finishLogin(config: McpServerConfig, query: string): Promise<Reply<null>> {
      return replied(this.#about(config), async () => {
        await this.#signIn.finish(config, query)
        this.#link.renew()
        return null
      })
    }

    reseal(): ReturnType<McpServerApi['reseal']> {
      return toReply(() => resealAll(this.ctx.storage.kv, this.#runtime.sealing))
    }

    async cancel(callId: string): Promise<void> {
      this.#link.cancel(callId)
    }

    async forget(): Promise<void> {
      this.#link.forget()
      await this.ctx.storage.deleteAll()
    }
  }
}
