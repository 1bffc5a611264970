declare module 'isolated:*' {
  const folder: {
    readonly manifest: { readonly id: string } & Readonly<Record<string, unknown>>
    readonly code: string
    readonly hash: string
  }
  export default folder
}
