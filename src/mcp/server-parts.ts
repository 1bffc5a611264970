import type { McpServerApi, McpServerConfig } from '#contracts/mcp.ts'
import { toReply } from '#contracts/reply.ts'
import { createSealedStore, resealAll, type Seal } from './oauth/sealed-store.ts'
import type { SignInDeps } from './oauth/sign-in-deps.ts'
import { createSignIn } from './oauth/sign-in.ts'
import { replied } from './replied.ts'
import { createServerLink, type LinkDeps } from './server-link.ts'

export interface McpServerRuntime
  extends Omit<LinkDeps, 'providerOf'>, Pick<SignInDeps, 'secret' | 'onSignedIn'> {
  readonly sealing: Seal
  /** Told each token before anybody has it: no log may hold it. */
  readonly learn: (value: string) => void
}

/** All that one remote server's object does, over the object's own storage. */
export function createServerParts(
  storage: DurableObjectStorage,
  runtime: McpServerRuntime,
): McpServerApi {
  const { sealing, sha256, clock } = runtime
  const link: ReturnType<typeof createServerLink> = createServerLink(storage.kv, {
    ...runtime,
    providerOf: (config) => signIn.providerOf(config),
  })
  const learn = (value: string): void => {
    runtime.learn(value)
    link.learn(value)
  }
  const signIn = createSignIn({
    ...runtime,
    learn,
    nowMs: clock.nowMs,
    connectDeps: (config) => link.connectDeps(config),
    storeOf: ({ id, url }) => createSealedStore(storage.kv, sealing, sha256(`${id} ${url}`), learn),
  })
  const about = ({ id, auth }: McpServerConfig) => ({ id, auth, fromText: link.fromText })

  return {
    look: (config) => replied(about(config), () => link.look(config)),
    async standing(config) {
      const listing = link.seenOf(config)
      if (config.auth !== 'oauth') return { ...(listing && { listing }), login: 'none' }
      const login = (await signIn.isSignedIn(config)) ? 'signed_in' : 'signed_out'
      return { ...(listing && { listing }), login }
    },
    call: (call, tell, asked) =>
      link.call(call, {
        // A caller that is gone hears nothing more, and that is no fault of the call.
        tell: (progress) => void Promise.resolve(tell(progress)).catch(() => {}),
        asked,
      }),
    login: (config, origin) => replied(about(config), () => signIn.begin(config, origin)),
    finishLogin: (config, query) =>
      replied(about(config), async () => {
        await signIn.finish(config, query)
        link.renew()
        return null
      }),
    reseal: () => toReply(() => resealAll(storage.kv, sealing)),
    cancel: async (callId) => link.cancel(callId),
    endSession: async (rootSession) => link.endSession(rootSession),
    async forget() {
      await link.forget()
      await storage.deleteAll()
    },
  }
}
