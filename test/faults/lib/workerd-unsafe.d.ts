declare module 'workerd:unsafe' {
  const unsafe: {
    readonly abortAllDurableObjects: () => Promise<void>
    readonly evict: (
      object: DurableObjectStub,
      options: { readonly webSockets: 'hibernate' },
    ) => Promise<void>
  }
  export default unsafe
}
