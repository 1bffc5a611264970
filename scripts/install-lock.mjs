// One process at a time: for an installation in a clone (two would take each other's files away), and for a folder of
// local data (two servers would write the same databases). Node builtins only, Node 20.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs `work` while `file` names this process. Waits for another process that it names, and takes over from one that
 * is gone.
 * @param {string} file Where the lock is kept; its folder is made.
 * @param {() => Promise<void>} work
 * @param {{ everyMs?: number, onWait?: () => void }} [options] How often is looked whether it is free; called once
 *   before waiting.
 */
export async function withLock(file, work, { everyMs = 500, onWait } = {}) {
  for (let isFirst = true; takeLock(file); isFirst = false) {
    if (isFirst) onWait?.()
    await sleep(everyMs)
  }
  try {
    await work()
  } finally {
    rmSync(file, { force: true })
  }
}

/**
 * Takes a lock for this process. A lock whose process has ended is taken over, also if its number belongs to another
 * process by now. The process that takes the lock removes the file at its end.
 * @param {string} file The file of the lock; its folder is made.
 * @param {object} [about] What this process says of itself to others.
 * @returns {object | undefined} The `about` of the process that has the lock, with its `pid`; nothing if the lock is
 *   ours now.
 */
export function takeLock(file, about = {}) {
  mkdirSync(dirname(file), { recursive: true })
  const { pid } = process
  const text = `${JSON.stringify({ ...about, pid, started: startOf(pid) })}\n`
  for (;;) {
    try {
      writeFileSync(file, text, { flag: 'wx' })
      return undefined
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const found = readLock(file)
    if (found?.isHeld) return found.holder
    if (found) takeAway(file, found.text)
  }
}

/** So long may a process take to write a line. */
const unwrittenMs = 5_000

/** Nothing if there is no lock any more. */
function readLock(file) {
  try {
    const text = readFileSync(file, 'utf8')
    const holder = parse(text)
    // Not written whole yet, or never, since its process was killed.
    const isNew = () => Date.now() - statSync(file).mtimeMs < unwrittenMs
    return { text, holder: holder ?? {}, isHeld: holder ? lives(holder) : isNew() }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function parse(text) {
  try {
    const holder = JSON.parse(text)
    return Number.isSafeInteger(holder?.pid) && holder.pid > 0 ? holder : undefined
  } catch {
    return undefined
  }
}

function lives({ pid, started }) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // The process of another account is one too.
    if (error.code !== 'EPERM') return false
  }
  const now = startOf(pid)
  return started === undefined || now === undefined || started === now
}

/** When a process began, as the system writes it; nothing if that is not known. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    // No Linux.
  }
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options).trim() || undefined
  } catch {
    return undefined
  }
}

/** Moves the lock of a process that has ended away. Another process may have done so meanwhile, and taken it. */
function takeAway(file, text) {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return
  }
  try {
    const moved = readFileSync(aside, 'utf8')
    if (moved !== text) writeFileSync(file, moved, { flag: 'wx' })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
}
