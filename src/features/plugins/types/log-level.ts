import type { LogLevel } from '#contracts/plugin.ts'

const logLevels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** The level that a value names (syslog's, as the Model Context Protocol has them); `undefined` if it is none. */
export const levelOf = (value: unknown): LogLevel | undefined =>
  logLevels.find((level) => level === value)
