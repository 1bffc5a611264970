// How large the heap of the one isolate of a local server is, by its inspector.

/**
 * @returns `during(work)`: what `work` resolves to, and the largest heap that was seen meanwhile, in bytes,
 * what is not collected yet included. */
export async function openInspector(url) {
  const targets = await (await fetch(new URL('/json', url))).json()
  // Beside the Worker there are those that stand for the platform.
  const { webSocketDebuggerUrl } = targets.find(({ id }) => id.startsWith('core:user:'))
  const socket = new WebSocket(webSocketDebuggerUrl)
  const waiting = new Map()
  let lastId = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data)
    waiting.get(id)?.(result ?? {})
    waiting.delete(id)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  const ask = (method, params = {}) =>
    new Promise((resolve) => {
      const id = (lastId += 1)
      waiting.set(id, resolve)
      socket.send(JSON.stringify({ id, method, params }))
    })
  const heapBytes = async () => {
    const { usedSize = 0, backingStorageSize = 0 } = await ask('Runtime.getHeapUsage')
    return usedSize + backingStorageSize
  }
  return {
    heapBytes,
    async during(work) {
      let isDone = false
      let peakBytes = await heapBytes()
      const look = async () => {
        while (!isDone) {
          peakBytes = Math.max(peakBytes, await heapBytes())
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      const looking = look()
      try {
        const value = await work()
        return { value, peakBytes: Math.max(peakBytes, await heapBytes()) }
      } finally {
        isDone = true
        await looking
      }
    },
    close: () => socket.close(),
  }
}
