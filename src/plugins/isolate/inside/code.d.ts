/** Missing in the generated types (workerd 1.20260815.1): takes this isolate away with all that runs in it. */
declare namespace CloudflareWorkersModule {
  export function abortIsolate(reason?: string): void
}

/** The plugin: the one bundled module that its author sent. */
declare module 'plugin-code.js' {
  const register: unknown
  export default register
}

/** Parts of sucrase that have no entry of their own. */
declare module 'sucrase/dist/esm/parser/index.js' {
  export { parse } from 'sucrase/dist/types/parser/index.js'
}
declare module 'sucrase/dist/esm/parser/tokenizer/types.js' {
  export { TokenType } from 'sucrase/dist/types/parser/tokenizer/types.js'
}
