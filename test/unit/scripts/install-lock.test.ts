import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withLock } from '../../../scripts/install-lock.mjs'

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
  writeFileSync(file, `${pid}\n`)
  let isDone = false
  await withLock(file, async () => void (isDone = true), { everyMs: 1 })
  expect(isDone).toBe(true)
})
