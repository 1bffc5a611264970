// One installation at a time in a clone: two would take each other's files away. Node builtins only, Node 20.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs `work` while `file` names this process. Waits for another process that it names, and takes over from one that is gone.
 * @param {string} file Where the lock is kept; its folder is made.
 * @param {() => Promise<void>} work
 * @param {{ everyMs?: number, onWait?: () => void }} [options] How often is looked whether it is free; called once before waiting.
 */
export async function withLock(file, work, { everyMs = 500, onWait } = {}) {
  mkdirSync(dirname(file), { recursive: true })
  for (let isFirst = true; !take(file); isFirst = false) {
    if (isFirst) onWait?.()
    await sleep(everyMs)
  }
  try {
    await work()
  } finally {
    rmSync(file, { force: true })
  }
}

function take(file) {
  try {
    writeFileSync(file, `${process.pid}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  if (!isHeld(file)) rmSync(file, { force: true })
  return false
}

function isHeld(file) {
  try {
    const pid = /^(\d+)\n$/.exec(readFileSync(file, 'utf8'))?.[1]
    // Not written whole yet.
    if (pid === undefined) return true
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    // Somebody else's process is one too; a file that is gone is looked for again.
    return error.code === 'EPERM'
  }
}
