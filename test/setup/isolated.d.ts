declare module 'isolated:*' {
  const folder: {
    readonly manifest: { readonly id: string } & Readonly<Record<string, unknown>>
    readonly code: string
    readonly hash: string
  }
  export default folder
}

declare module 'built:*' {
  const bundle: {
    readonly manifest: { readonly id: string } & Readonly<Record<string, unknown>>
    readonly code: string
    readonly files: Readonly<Record<string, string>>
  }
  export default bundle
}
