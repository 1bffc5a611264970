declare module 'under-test:plugin' {
  import type { PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
  export const host: 'in-process' | 'isolate'
  export const bundle: PluginBundle
  export const hash: string
}
declare module 'under-test:code' {
  import type { Plugin } from '#features/plugins/types/plugin.ts'
  const register: Plugin | undefined
  export default register
}
declare module 'under-test:tests' {}
