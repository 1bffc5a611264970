// What instrumented code calls (instrument.mjs). Every function is synchronous and hands its value through, so an
// unarmed failpoint changes nothing, ticks included. Test builds only: nothing of this is in a deployment.
import { AsyncLocalStorage } from 'node:async_hooks'

/** `before`: not evaluated yet. `during`: evaluated, its promise pending. `settled`: over, before we go on. */
export type Position = 'before' | 'during' | 'settled'

/** `abort`: this object. `reset`: every object. `exit`: the process. */
export type Kind = 'abort' | 'reset' | 'exit'

/** A fault that waits for its moment: the `hit`-th time that `point` is passed in that tree, in one of its objects. */
export interface Arm {
  readonly id: string
  /** Root session, or `*`. */
  readonly tree: string
  readonly role: 'root' | 'child' | 'any'
  readonly point: string
  readonly position: Position
  readonly hit: number
  readonly kind: Kind
}

/** The object that code runs in. */
export interface Scope {
  readonly context: DurableObjectState
  readonly object: string
  /** Root session of its tree, once a call has told. */
  tree: string | undefined
  isChild: boolean
}

export const scopes = new AsyncLocalStorage<Scope>()

const arms = new Map<string, Arm & { left: number }>()
/** How often each position was passed, whether armed or not. */
const passed = new Map<string, number>()
const perTree = new Map<string, Map<string, number>>()
const strays = new Map<string, number>()

export function arm(fault: Arm): void {
  arms.set(fault.id, { ...fault, left: fault.hit })
}

export const disarm = (id: string): boolean => arms.delete(id)

/** For one tree, what it passed and how often: the recording pass. */
export const record = (tree: string): void => void perTree.set(tree, new Map())

export function report(tree?: string) {
  if (tree !== undefined) return Object.fromEntries(perTree.get(tree) ?? [])
  return { passed: Object.fromEntries(passed), strays: Object.fromEntries(strays) }
}

export const forget = (tree: string): boolean => perTree.delete(tree)

const count = (counts: Map<string, number>, key: string) =>
  counts.set(key, (counts.get(key) ?? 0) + 1)

function pass(point: string, position: Position): void {
  const key = `${point} ${position}`
  count(passed, key)
  const scope = scopes.getStore()
  if (!scope) count(strays, key)
  const recorded = scope?.tree === undefined ? undefined : perTree.get(scope.tree)
  if (scope && recorded) count(recorded, `${scope.isChild ? 'child' : 'root'} ${key}`)
  for (const armed of arms.values()) {
    if (armed.point !== point || armed.position !== position || !isMeant(armed, scope)) continue
    armed.left -= 1
    if (armed.left > 0) continue
    arms.delete(armed.id)
    strike(armed, scope)
  }
}

/** Code that runs in no session's object (a request's, the principal's) is only hit by what is meant for any. */
const isMeant = ({ tree, role }: Arm, scope: Scope | undefined): boolean =>
  tree === '*' || (scope?.tree === tree && (role === 'any' || (role === 'child') === scope.isChild))

/**
 * Returns only where there is no object to abort. The line is how the harness hears of it: it is out before anything else happens. A reset of all
 * objects crashes workerd when one of them asks for it, so this object stops here and the harness resets the rest.
 */
function strike({ id, kind }: Arm, scope: Scope | undefined): void {
  tell('struck', id, kind)
  if (kind === 'exit') for (;;); // until the harness kills the process: nothing after this point happens
  scope?.context.abort(`injected fault ${id}`)
}

export function tell(...words: readonly string[]): void {
  console.log(`@@faults ${words.join(' ')}`)
}

export const before = (point: string): void => pass(point, 'before')

export function started<T>(point: string, value: T): T {
  // A rejection throws past `settled`, so it is seen on its way.
  if (value instanceof Promise) value.catch(() => pass(point, 'settled'))
  pass(point, 'during')
  return value
}

export function settled<T>(point: string, value: T): T {
  pass(point, 'settled')
  return value
}

/** What a callback has started in the same go has run by then, and nothing has reached the disk. */
const ticksToSettle = 12

/** A callback of `.then`: before it, after its synchronous part, and a few ticks later. */
export function link<A extends unknown[], R>(point: string, work: (...values: A) => R) {
  return (...values: A): R => {
    pass(point, 'before')
    const result = work(...values)
    pass(point, 'during')
    if (arms.size + perTree.size > 0) passLater(point, ticksToSettle)
    return result
  }
}

function passLater(point: string, ticks: number): void {
  if (ticks > 0) queueMicrotask(() => passLater(point, ticks - 1))
  else pass(point, 'settled')
}

/** `for await`: each step is an await of its own. */
export function steps<T>(point: string, source: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = source[Symbol.asyncIterator]()
      return {
        next() {
          pass(point, 'before')
          return started(point, inner.next())
        },
        ...(inner.return && { return: (value?: unknown) => inner.return!(value) }),
      }
    },
  }
}

/** A stream's source, each of its methods in the scope of the object that made it. */
export function scoped<T extends object>(source: T): T {
  const scope = scopes.getStore()
  if (!scope) return source
  const methods = Object.entries(source).map(([name, value]) => [
    name,
    typeof value === 'function'
      ? (...values: unknown[]) => scopes.run(scope, () => value.apply(source, values))
      : value,
  ])
  return Object.fromEntries(methods) as T
}
