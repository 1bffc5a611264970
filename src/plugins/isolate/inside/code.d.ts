/** The plugin: the one bundled module that its author sent. */
declare module 'plugin-code.js' {
  const register: unknown
  export default register
}
