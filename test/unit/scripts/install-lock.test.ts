import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { takeLock, withLock } from '../../../scripts/install-lock.mjs'

const lockFile = () => join(mkdtempSync(join(tmpdir(), 'isola-lock-')), 'inside', 'installing')

it('lets one in at a time, and those who wait afterwards', async () => {
  const file = lockFile()
  const seen: string[] = []
  let waited = 0
  const onWait = () => (waited += 1)
  const inside = (name: string) => async () => {
    seen.push(`${name} in`)
    while (waited < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    seen.push(`${name} out`)
  }
  await Promise.all(
    ['a', 'b', 'c'].map((name) => withLock(file, inside(name), { everyMs: 1, onWait })),
  )
  expect(seen.filter((_, at) => at % 2 === 1)).toEqual(
    seen.filter((_, at) => at % 2 === 0).map((text) => text.replace('in', 'out')),
  )
  expect(existsSync(file)).toBe(false)
})

it('is free again after a failure, and takes over from a process that is gone', async () => {
  const file = lockFile()
  const failing = withLock(file, async () => {
    throw new Error('npm ci failed')
  })
  await expect(failing).rejects.toThrow('npm ci failed')
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  writeFileSync(file, `{"pid":${pid}}\n`)
  let isDone = false
  await withLock(file, async () => void (isDone = true), { everyMs: 1 })
  expect(isDone).toBe(true)
})

describe('the lock of a folder', () => {
  const begun = () => {
    const file = lockFile()
    mkdirSync(dirname(file))
    return file
  }
  const holderIn = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as { pid: number }

  it('names who has it, with what that said of itself', () => {
    const file = lockFile()
    expect(takeLock(file, { port: 8787 })).toBeUndefined()
    expect(takeLock(file, { port: 9000 })).toMatchObject({ pid: process.pid, port: 8787 })
  })

  it('is taken over from a process that was killed', () => {
    const file = begun()
    const { pid } = spawnSync('sleep', ['60'], { timeout: 50, killSignal: 'SIGKILL' })
    writeFileSync(file, JSON.stringify({ pid, port: 8787 }))
    expect(takeLock(file)).toBeUndefined()
    expect(holderIn(file).pid).toBe(process.pid)
  })

  it('is taken over where the number is that of another process by now', () => {
    const file = begun()
    // The parent lives, and began at another time.
    writeFileSync(file, JSON.stringify({ pid: process.ppid, started: 'another boot 1' }))
    expect(takeLock(file)).toBeUndefined()
  })

  it('is held by a process whose start time is unknown', () => {
    const file = begun()
    writeFileSync(file, JSON.stringify({ pid: process.ppid, port: 1 }))
    expect(takeLock(file)).toEqual({ pid: process.ppid, port: 1 })
  })

  it.each(['', '{"pid":', 'null', '{"pid":"1"}', '{"pid":-1}', '{"pid":0}'])(
    'that says %j is held while it may be being written, and nobody’s after that',
    (text) => {
      const file = begun()
      writeFileSync(file, text)
      expect(takeLock(file)).toEqual({})
      const before = Date.now() / 1_000 - 60
      utimesSync(file, before, before)
      expect(takeLock(file)).toBeUndefined()
    },
  )
})
