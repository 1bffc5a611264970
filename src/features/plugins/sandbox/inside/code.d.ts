/** Missing in the generated types (workerd 1.20260815.1): takes this isolate away with all that runs in it. */
declare namespace CloudflareWorkersModule {
  export function abortIsolate(reason?: string): void
}

/** The plugin: the one bundled module that its author sent. */
declare module 'plugin-code.js' {
  const register: unknown
  export default register
}
