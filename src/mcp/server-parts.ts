import type { McpServerApi, McpServerConfig } from '#contracts/mcp.ts'
import { toReply } from '#contracts/reply.ts'
import { createSealedStore, resealAll, type Seal } from './oauth/sealed-store.ts'
import type { SignInDeps } from './oauth/sign-in-deps.ts'
import { createSignIn } from './oauth/sign-in.ts'
import { replied } from './replied.ts'
import { createServerLink, type LinkDeps } from './server-link.ts'
import { untilLeft } from './until-left.ts'

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
  let parts = openParts(storage, runtime)
  let forgetting = Promise.resolve()
  /** What there is, once nothing is being forgotten. */
  const present = async () => {
    await forgetting
    return parts
  }
  const forgetNow = async (): Promise<void> => {
    const gone = parts
    await gone.link.forget()
    gone.leave()
    parts = openParts(storage, runtime)
    await storage.deleteAll()
  }
  const repliedFrom = async <T>(
    { id, auth }: McpServerConfig,
    work: (parts: ReturnType<typeof openParts>) => Promise<T>,
  ) => {
    const now = await present()
    return replied({ id, auth, fromText: now.link.fromText }, () => work(now))
  }

  return {
    look: (config) => repliedFrom(config, ({ link }) => link.look(config)),
    async standing(config) {
      const { link, signIn } = await present()
      const listing = link.seenOf(config)
      if (config.auth !== 'oauth') return { ...(listing && { listing }), login: 'none' }
      const login = (await signIn.isSignedIn(config)) ? 'signed_in' : 'signed_out'
      return { ...(listing && { listing }), login }
    },
    async call(call, tell, asked) {
      const { link } = await present()
      return link.call(call, {
        // A caller that is gone hears nothing more, and that is no fault of the call.
        tell: (progress) => void Promise.resolve(tell(progress)).catch(() => {}),
        asked,
      })
    },
    login: (config, origin) => repliedFrom(config, ({ signIn }) => signIn.begin(config, origin)),
    finishLogin: (config, query) =>
      repliedFrom(config, async ({ link, signIn }) => {
        await signIn.finish(config, query)
        link.renew()
        return null
      }),
    async reseal() {
      await forgetting
      return toReply(() => resealAll(storage.kv, runtime.sealing))
    },
    cancel: async (callId) => (await present()).link.cancel(callId),
    endSession: async (rootSession) => (await present()).link.endSession(rootSession),
    forget() {
      const done = forgetting.then(forgetNow)
      // What could not be forgotten holds up nobody: whoever asked tries again.
      forgetting = done.catch(() => {})
      return done
    },
  }
}

/** The link and the sign-in, from one forgetting to the next. */
function openParts(storage: DurableObjectStorage, runtime: McpServerRuntime) {
  const { sealing, sha256, clock } = runtime
  const { store, leave } = untilLeft(storage.kv)
  const link: ReturnType<typeof createServerLink> = createServerLink(store, {
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
    storeOf: ({ id, url }) => createSealedStore(store, sealing, sha256(`${id} ${url}`), learn),
  })
  return { link, signIn, leave }
}
