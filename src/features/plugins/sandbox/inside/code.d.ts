/** Missing in the generated types (workerd 1.20260815.1): ends this isolate and everything that runs in it. */
declare namespace CloudflareWorkersModule {
  export function abortIsolate(reason?: string): void
}

/** The plugin: the one bundled module of its author. */
declare module 'plugin-code.js' {
  const register: unknown
  export default register
}
