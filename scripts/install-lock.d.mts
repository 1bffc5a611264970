export function withLock(
  file: string,
  work: () => Promise<void>,
  options?: { readonly everyMs?: number; readonly onWait?: () => void },
): Promise<void>

/** @returns what the process that has it said of itself; `undefined` if it is ours now. */
export function takeLock(
  file: string,
  about?: Readonly<Record<string, string | number>>,
): Readonly<Record<string, string | number | undefined>> | undefined
