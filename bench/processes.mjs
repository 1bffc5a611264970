// CPU of a server's processes, from /proc (Linux only).
import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks a second of /proc: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

const read = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // it ended meanwhile
  }
}

/** Fields of /proc/<pid>/stat after the name, which may hold spaces. */
const statOf = (pid) =>
  read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')

/** The processes that this one has begun and that still run. */
export function children() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(name)?.[1] === String(process.pid))
    .map(Number)
}

/** Milliseconds of CPU that these processes have used, user and system. */
export function cpuMs(pids) {
  const ticks = pids.map((pid) => {
    const stat = statOf(pid)
    return stat ? Number(stat[11]) + Number(stat[12]) : 0
  })
  return (ticks.reduce((sum, used) => sum + used, 0) * 1_000) / ticksPerSecond
}
