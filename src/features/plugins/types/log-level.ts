import type { LogLevel } from '#features/plugins/types/plugin.ts'

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

/** The level that a value names (syslog's, as in the Model Context Protocol); `undefined` for any other value. */
export const levelOf = (value: unknown): LogLevel | undefined =>
  logLevels.find((level) => level === value)
