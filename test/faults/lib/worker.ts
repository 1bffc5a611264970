// Around the product's own Worker: every method of its objects runs in a scope that says which object it is, and
// `/__faults/…` arms failpoints. The product's code is the same but for them (build.mjs).
import { env } from 'cloudflare:workers'
import workerdUnsafe from 'workerd:unsafe'
import {
  arm,
  disarm,
  forget,
  record,
  report,
  scopes,
  tell,
  type Arm,
  type Scope,
} from './failpoint.ts'
import { sessionObject, withWantedSession } from './composition.ts'

/** Survives the process: the armed faults, and the root of each child. */
interface Memory {
  readonly arms: readonly Arm[]
  readonly trees: Readonly<Record<string, string>>
}

const memory = JSON.parse(
  String((env as unknown as Record<string, unknown>)['FAULTS_MEMORY'] ?? '{"arms":[],"trees":{}}'),
) as Memory
const trees = new Map(Object.entries(memory.trees))

const objectOf = (session: string): string => sessionObject(session).id.toString()

/** Once, before anything else of this life: ids of objects cannot be made while the module loads. */
let isRecalled = false
function recall(): void {
  if (isRecalled) return
  isRecalled = true
  for (const fault of memory.arms) armFault(fault)
}

function armFault(fault: Arm): void {
  if (fault.tree !== '*') trees.set(objectOf(fault.tree), fault.tree)
  arm(fault)
}

// oxlint-disable-next-line typescript/no-explicit-any -- a mixin's base
type ObjectClass = new (...args: any[]) => object

interface Scoped {
  faultScope: Scope
}

/** The class with its constructor and each of its methods run in the scope of the object they belong to. */
export function watched<T extends ObjectClass>(Base: T, className: string): T {
  class Watched extends inScope(Base) {}
  for (const name of methodNames(Base)) {
    Object.defineProperty(Watched.prototype, name, {
      value(this: Scoped, ...args: unknown[]) {
        // The other classes' objects belong to no session.
        if (className === 'Session') learn(this.faultScope, args)
        refuse(name, args, this.faultScope)
        return scopes.run(this.faultScope, () => callBase(Base, this, name, args))
      },
    })
  }
  return Watched as unknown as T
}

/** A constructor cannot call `super` from within a scope, so the base is constructed by hand. */
const inScope = (Base: ObjectClass): ObjectClass =>
  new Proxy(Base, {
    construct(target, args, newTarget) {
      recall()
      const [context] = args as [DurableObjectState]
      const object = context.id.toString()
      const tree = trees.get(object)
      const isChild = tree !== undefined && objectOf(tree) !== object
      const scope: Scope = { context, object, tree, isChild }
      const self = scopes.run(scope, () => Reflect.construct(target, args, newTarget) as Scoped)
      self.faultScope = scope
      // What lifecycle libraries put on the instance.
      for (const name of ['alarm', 'fetch']) wrapOwn(self, name)
      return self
    },
  })

function methodNames(Base: ObjectClass): string[] {
  const names = new Set<string>()
  for (let proto = Base.prototype; proto && proto !== Object.prototype;) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const value: unknown = Object.getOwnPropertyDescriptor(proto, name)?.value
      if (name !== 'constructor' && typeof value === 'function') names.add(name)
    }
    proto = Object.getPrototypeOf(proto)
  }
  return [...names]
}

const callBase = (Base: ObjectClass, self: object, name: string, args: unknown[]): unknown =>
  (Reflect.get(Base.prototype, name) as (...all: unknown[]) => unknown).apply(self, args)

function wrapOwn(self: Scoped, name: string): void {
  const own: unknown = Object.getOwnPropertyDescriptor(self, name)?.value
  if (typeof own !== 'function') return
  Object.defineProperty(self, name, {
    value: (...args: unknown[]) => scopes.run(self.faultScope, () => own.apply(self, args)),
  })
}

/**
 * A method that fails for one session, from its `skip`-th call on and so many times: another object that is not well, or
 * the session's own.
 */
interface Refusal {
  readonly method: string
  skip: number
  times: number
}

const refusals = new Map<string, Refusal>()

function refuse(method: string, args: readonly unknown[], { tree, isChild }: Scope): void {
  const named = args.map((value) => (value as { session?: string } | undefined)?.session)
  for (const session of new Set([...named, isChild ? undefined : tree])) {
    const refusal = refusals.get(session ?? '')
    if (refusal?.method !== method) continue
    if (refusal.skip > 0) refusal.skip -= 1
    else if (refusal.times > 0) {
      refusal.times -= 1
      throw new Error(`refused on purpose: ${method}`)
    }
  }
}

/** A submission with a lineage tells whose child this object is. */
function learn(scope: Scope, args: readonly unknown[]): void {
  if (scope.tree !== undefined) return
  for (const value of args) {
    const root = rootOf(value)
    if (root === undefined) continue
    scope.tree = root
    scope.isChild = objectOf(root) !== scope.object
    trees.set(scope.object, root)
    if (scope.isChild) tell('tree', scope.object, root)
    return
  }
}

function rootOf(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) {
    const { lineage, session } = value as {
      lineage?: { rootSession?: string }
      session?: unknown
    }
    if (lineage?.rootSession) return lineage.rootSession
    if (typeof session === 'string' && session.startsWith('ses_')) return session
  }
  return undefined
}

type Handler = ExportedHandler<Env>

export function controlled(product: Handler): Handler {
  return {
    ...product,
    async fetch(request, bindings, context) {
      recall()
      const url = new URL(request.url)
      if (url.pathname.startsWith('/__faults/')) return control(url, request)
      const wanted = request.headers.get('x-faults-session') ?? undefined
      return withWantedSession(wanted, async () => product.fetch!(request, bindings, context))
    },
  }
}

async function control(url: URL, request: Request): Promise<Response> {
  const body = request.method === 'POST' ? await request.json() : undefined
  const session = url.searchParams.get('session') ?? ''
  switch (url.pathname) {
    case '/__faults/arm':
      for (const fault of body as readonly Arm[]) armFault(fault)
      return Response.json({})
    case '/__faults/disarm':
      return Response.json((body as readonly string[]).filter((id) => disarm(id)))
    case '/__faults/record':
      trees.set(objectOf(session), session)
      record(session)
      return Response.json({})
    case '/__faults/recorded': {
      const recorded = report(session)
      forget(session)
      return Response.json(recorded)
    }
    case '/__faults/passed':
      return Response.json(report())
    case '/__faults/spent':
      return Response.json(await sessionObject(session).spentBy(String(body)))
    case '/__faults/refuse':
      refusals.set(session, body as Refusal)
      return Response.json({})
    case '/__faults/evict':
      return evict(sessionObject(session))
    case '/__faults/reset':
      await workerdUnsafe.abortAllDurableObjects()
      return Response.json({})
    default:
      return new Response(null, { status: 404 })
  }
}

/** An object that is not in memory, or that a fault has just ended, cannot be evicted. */
async function evict(object: DurableObjectStub): Promise<Response> {
  try {
    await workerdUnsafe.evict(object, { webSockets: 'hibernate' })
    return Response.json({ evicted: true })
  } catch (error) {
    return Response.json({ evicted: false, why: String(error) })
  }
}
