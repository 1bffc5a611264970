import { spawn, type ChildProcess } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { supervise } from '../../../scripts/supervise.mjs'

/** Real processes that run this, each the leader of its group. */
function supervised(code: string) {
  const ended: { readonly why: string; readonly isAgain: boolean }[] = []
  const started: ChildProcess[] = []
  const givenUp = Promise.withResolvers<void>()
  const server = supervise({
    waitMs: 1,
    start: () => {
      const child = spawn(process.execPath, ['-e', code], { detached: true, stdio: 'ignore' })
      started.push(child)
      return child
    },
    onEnded: (one) => {
      ended.push(one)
      if (!one.isAgain) givenUp.resolve()
    },
  })
  return { server, ended, started, givenUp: givenUp.promise }
}
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((done) => setTimeout(done, 20))
}
const isAlive = (pid = 0) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('the supervisor of npm start', () => {
  it('does not start again what was never ready', async () => {
    const { ended, givenUp } = supervised('process.exit(3)')
    await givenUp
    expect(ended).toEqual([{ why: 'code 3', isAgain: false }])
  })

  it('gives up after five that ended quickly', async () => {
    const { server, ended, started, givenUp } = supervised('process.exit(3)')
    server.ready()
    await givenUp
    expect(ended.map(({ isAgain }) => isAgain)).toEqual([true, true, true, true, false])
    expect(started).toHaveLength(5)
    expect(server.isRunning()).toBe(false)
  })

  it('starts another when one that was ready is killed or replaced, and leaves one that starts alone', async () => {
    const { server, ended, started } = supervised('setInterval(() => {}, 1000)')
    server.replace()
    server.ready()
    started[0]?.kill('SIGKILL')
    await until(() => started.length === 2)
    server.replace()
    expect(isAlive(started[1]?.pid)).toBe(true)
    server.ready()
    server.replace()
    await until(() => started.length === 3)
    expect(ended).toEqual([
      { why: 'SIGKILL', isAgain: true },
      { why: 'SIGKILL', isAgain: true },
    ])
    await server.stop()
    expect(started.map(({ pid }) => isAlive(pid))).toEqual([false, false, false])
    expect(started).toHaveLength(3)
  })

  it('says that a program is not there', async () => {
    const ended: string[] = []
    const server = supervise({
      start: () => spawn('/nowhere/at-all', { stdio: 'ignore' }),
      onEnded: ({ why }) => ended.push(why),
    })
    await until(() => ended.length > 0)
    expect(ended).toEqual([expect.stringContaining('ENOENT')])
    await server.stop()
  })
})
