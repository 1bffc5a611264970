import type { ChildProcess } from 'node:child_process'

export function supervise(options: {
  readonly start: () => ChildProcess
  readonly onEnded: (ended: { readonly why: string; readonly isAgain: boolean }) => void
  readonly waitMs?: number
}): {
  readonly isRunning: () => boolean
  readonly ready: () => void
  readonly replace: () => void
  readonly stop: () => Promise<void>
}
