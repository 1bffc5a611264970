/** Milliseconds that this thread has worked: unlike a clock it stands still while the machine does other things. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
