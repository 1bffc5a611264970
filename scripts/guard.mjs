// Preloaded into `wrangler dev` by start.mjs: when the parent is gone, however it went, so is the
// process group (wrangler, workerd, esbuild). A killed -9 parent cannot say goodbye.
process.on('disconnect', () => {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit(1)
  }
})
process.channel?.unref()
