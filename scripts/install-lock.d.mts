export function withLock(
  file: string,
  work: () => Promise<void>,
  options?: { readonly everyMs?: number; readonly onWait?: () => void },
): Promise<void>
