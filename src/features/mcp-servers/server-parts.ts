import { defined } from '#contracts/defined.ts'
import type { McpServerApi, McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import { IsolaError } from '#contracts/errors.ts'
import { tablesMark } from '#contracts/object-tables.ts'
import { toReply } from '#contracts/reply.ts'
import { notSignedIn } from './call-failure.ts'
import { createSealedStore, resealAll, type Seal } from './oauth/sealed-store.ts'
import type { SignInDeps } from './oauth/sign-in-deps.ts'
import { createSignIn } from './oauth/sign-in.ts'
import { failure } from './outcome.ts'
import { replied } from './replied.ts'
import { createServerLink, type LinkDeps } from './server-link.ts'
import { createSigners } from './signers.ts'
import { untilLeft } from './until-left.ts'

export interface McpServerRuntime
  extends Omit<LinkDeps, 'providerOf'>, Pick<SignInDeps, 'secret' | 'onSignedIn'> {
  readonly sealing: Seal
  /** Receives each token before its first use: no log may hold it. */
  readonly learn: (value: string) => void
}

/** The object: where it keeps what it keeps, and who it is among all. */
type ObjectState = Pick<DurableObjectState, 'storage' | 'id'>

/** All that one remote server's object does, over the object's own storage. */
export function createServerParts(state: ObjectState, runtime: McpServerRuntime): McpServerApi {
  const { storage } = state
  const signers = createSigners({ store: markedValues(storage), secret: runtime.secret })
  let parts = openParts(state, runtime)
  let forgetting = Promise.resolve()
  /** The parts, once no deletion is under way. */
  const present = async () => {
    await forgetting
    return parts
  }
  const forgetNow = async (): Promise<void> => {
    const gone = parts
    await gone.link.forget()
    gone.leave()
    parts = openParts(state, runtime)
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
    look: (config) =>
      repliedFrom(config, async ({ link, isOut }) => {
        if (await isOut(config))
          throw new IsolaError('tool_failed', notSignedIn.principal(config.id))
        return link.look(config)
      }),
    async standing(config) {
      const { link, signIn } = await present()
      const listing = link.seenOf(config)
      if (config.auth === 'headers') return { ...defined({ listing }), login: 'none' }
      const [isIn, isDenied] = await Promise.all([
        signIn.isSignedIn(config),
        signIn.isDenied(config),
      ])
      const login = isIn ? 'signed_in' : 'signed_out'
      return { ...defined({ listing }), login, ...(isDenied && { isDenied }) }
    },
    async call(call, tell, asked) {
      const { link, isOut } = await present()
      // Without a sign-in nothing is sent to the server and nothing is written here.
      if (await isOut(call.config)) return failure(notSignedIn.principal(call.config.id))
      return link.call(call, {
        // A caller that is gone hears nothing more, and that is no fault of the call.
        tell: (progress) => void Promise.resolve(tell(progress)).catch(() => {}),
        asked,
      })
    },
    login: (config, origin, signer) =>
      repliedFrom(config, ({ signIn }) => signIn.begin(config, origin, signer)),
    finishLogin: (config, query) =>
      repliedFrom(config, async ({ link, signIn }) => {
        await signIn.finish(config, query)
        link.renew()
        return null
      }),
    cameBack: (config, query) =>
      repliedFrom(config, ({ signIn }) => signIn.cameBack(config, query)),
    confirmLogin: (config, code) =>
      repliedFrom(config, async ({ link, signIn }) => {
        await signIn.confirm(config, code)
        link.renew()
        return null
      }),
    addSigner: async (principal) => signers.add(principal),
    removeSigner: async (principal) => signers.remove(principal),
    signers: async () => signers.all(),
    async reseal() {
      await forgetting
      return toReply(() => resealAll(storage.kv, runtime.sealing))
    },
    cancel: async (callId) => (await present()).link.cancel(callId),
    endSession: async (rootSession) => (await present()).link.endSession(rootSession),
    forget() {
      const done = forgetting.then(forgetNow)
      // A failed deletion blocks no later call: its caller tries again.
      forgetting = done.catch(() => {})
      return done
    },
  }
}

/** The object's values. The first comes with a table, which says of which version they are. */
const markedValues = ({ kv, sql }: DurableObjectStorage) => ({
  get: (key: string): unknown => kv.get(key),
  delete: (key: string) => void kv.delete(key),
  list: (options: { readonly prefix: string }) => kv.list(options),
  put(key: string, value: unknown): void {
    sql.exec(`CREATE TABLE IF NOT EXISTS mcp_server (${tablesMark} none INTEGER)`)
    kv.put(key, value)
  },
})

/** The link and the sign-in, from one forgetting to the next. */
function openParts({ storage, id: objectId }: ObjectState, runtime: McpServerRuntime) {
  const { sealing, sha256, clock } = runtime
  const { store, leave } = untilLeft(markedValues(storage))
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
    storeOf: (config) =>
      createSealedStore(store, sealing, sha256(scopeOf(config, objectId)), learn),
  })
  /** Where each signs in for itself, whether this one has not. */
  const isOut = async (config: McpServerConfig): Promise<boolean> =>
    config.auth === 'principal' && !(await signIn.isSignedIn(config))
  return { link, signIn, isOut, leave }
}

/** A value is sealed for this server at this address; a principal's value opens in the principal's own object alone. */
const scopeOf = ({ id, url, auth }: McpServerConfig, objectId: DurableObjectId): string =>
  auth === 'principal' ? `${id} ${url} ${objectId.toString()}` : `${id} ${url}`
