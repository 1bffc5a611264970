/**
 * vitest-pool-workers 0.23 wraps a proxy around the prototype of a class each time it makes one of it, over the one
 * of before: the nth request of a file costs n times the first. Its successor (@cloudflare/vitest-plugin) keeps the
 * first, and so does this.
 */
const wrapped = new WeakSet<object>()

const isDone = Symbol.for('isola-flat-proxies')
const flat = (): ProxyConstructor =>
  new Proxy(Proxy, {
    construct(target, [of, handler]: [object, ProxyHandler<object>]) {
      const source = Reflect.get(handler, 'get')?.toString() ?? ''
      if (!source.includes('getUnknownPrototypeKey')) return new target(of, handler)
      if (wrapped.has(of)) return of
      const proxy = new target(of, handler)
      wrapped.add(proxy)
      return proxy
    },
  })
// Files of a run share the isolate.
if (!Reflect.has(globalThis, isDone)) {
  globalThis.Proxy = flat()
  Reflect.set(globalThis, isDone, true)
}
