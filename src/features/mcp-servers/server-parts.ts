import type { McpSigner, McpServerConfig, McpServerApi } from '#runtime/catalog/types/mcp.ts'
import type { LinkStore } from './kept-values.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { type ObjectReply, toReply } from '#contracts/reply.ts'
import { toCallFailure, notSignedIn } from './call-failure.ts'
import { defined } from '#contracts/defined.ts'
import { tablesMark } from '#contracts/objects.ts'
import { createSealedStore, resealAll, type Seal } from './oauth/sealed-store.ts'
import { type SignInDeps, createSignIn } from './oauth/sign-in.ts'
import { failure } from './outcome.ts'
import { createServerLink, type LinkDeps } from './server-link.ts'

/** The store of a server's own object, and a source of texts that cannot be guessed. */
interface SignersDeps {
  readonly store: LinkStore & {
    readonly list: (options: { readonly prefix: string }) => Iterable<[string, unknown]>
  }
  readonly secret: () => string
}

const prefix = 'signer '

/**
 * The principals that have an object of their own at a server: all that began to sign in, so that a removal of the
 * server finds them. The reference that a browser's address shows says nothing of who the principal is.
 */
function createSigners({ store, secret }: SignersDeps) {
  const all = (): readonly McpSigner[] =>
    // Whatever has this prefix was put in below, by this code.
    [...store.list({ prefix })].map(([key, principal]) => ({
      ref: key.slice(prefix.length),
      principal: principal as string,
    }))
  const find = (principal: string) => all().find((one) => one.principal === principal)
  return {
    all,
    add(principal: string): McpSigner {
      const known = find(principal)
      if (known) return known
      const signer = { ref: secret(), principal }
      store.put(`${prefix}${signer.ref}`, principal)
      return signer
    },
    remove(principal: string): void {
      const known = find(principal)
      if (known) store.delete(`${prefix}${known.ref}`)
    },
  }
}

/**
 * Returns the server's outcome as a value, without the secrets that open the server (docs/security.md T4): any reader
 * may see it.
 */
export async function replied<T>(
  {
    fromText,
    ...server
  }: Pick<McpServerConfig, 'id' | 'auth'> & { readonly fromText: (text: string) => string },
  work: () => Promise<T>,
): Promise<ObjectReply<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    if (errorCode(error) === 'request_invalid')
      return {
        ok: false,
        error: { code: 'request_invalid', message: fromText(errorMessage(error)) },
      }
    const { message } = toCallFailure(error, server)
    return { ok: false, error: { code: 'request_unavailable', message: fromText(message) } }
  }
}

/**
 * A store that reads and writes nothing once it is left, so that a late answer (a renewed token of a removed server,
 * an old listing) undoes nothing.
 */
function untilLeft(store: LinkStore) {
  let isLeft = false
  return {
    store: {
      get: (key) => (isLeft ? undefined : store.get(key)),
      put: (key, value) => void (isLeft || store.put(key, value)),
      delete: (key) => void (isLeft || store.delete(key)),
    } satisfies LinkStore,
    leave: (): void => void (isLeft = true),
  }
}

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
