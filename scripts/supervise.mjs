const quickMs = 60_000
const maxQuickEnds = 5
const firstWaitMs = 500
const graceMs = 4_000

/**
 * Keeps one child running, the leader of a process group. A child that ends by itself is started again, after a wait
 * that doubles; after five that ended within a minute of their start the supervisor gives up. A first child that was
 * never ready has said why, and is not started again.
 *
 * @param options.start Starts the child and returns it.
 * @param options.onEnded Told why it ended, and whether it is started again.
 * @returns `ready()` to say that it answers, `replace()` to end a ready child and start another, `stop()` to end it
 *   for good.
 */
export function supervise({ start, onEnded, waitMs = firstWaitMs }) {
  let child
  let timer
  let isStopping = false
  let wasReady = false
  let isReady = false
  let quickEnds = 0

  const run = () => {
    const startedMs = Date.now()
    const mine = start()
    child = mine
    isReady = false
    const ended = (why) => {
      if (child !== mine) return
      child = undefined
      // The processes that it had started would keep its port and its files.
      signalGroup(mine, 'SIGKILL')
      if (isStopping) return
      quickEnds = Date.now() - startedMs < quickMs ? quickEnds + 1 : 0
      const isAgain = wasReady && quickEnds < maxQuickEnds
      onEnded({ why, isAgain })
      if (isAgain) timer = setTimeout(run, waitMs * 2 ** Math.max(0, quickEnds - 1))
    }
    mine.once('error', (error) => ended(error.message))
    mine.once('exit', (code, signal) => ended(signal ?? `code ${code}`))
  }

  const stop = async () => {
    isStopping = true
    clearTimeout(timer)
    const last = child
    if (!last) return
    const gone = new Promise((done) => {
      last.once('exit', done)
      last.once('error', done)
    })
    signalGroup(last, 'SIGTERM')
    const late = setTimeout(() => signalGroup(last, 'SIGKILL'), graceMs)
    await gone
    clearTimeout(late)
    signalGroup(last, 'SIGKILL')
  }

  run()
  return {
    isRunning: () => child !== undefined,
    ready: () => {
      wasReady = true
      isReady = true
    },
    replace: () => {
      if (isReady && child) signalGroup(child, 'SIGKILL')
    },
    stop,
  }
}

function signalGroup({ pid }, signal) {
  // Without a pid nothing was started; -0 would be our own group.
  if (!pid) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already, which is what was wanted.
  }
}
