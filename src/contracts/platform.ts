/**
 * The platform's work for a run. `rowsRead` and `rowsWritten` are rows of the SQLite of objects, indexes included,
 * `alarms` calls of `setAlarm`, `requests` calls that reach an object and alarms that fire, `wakes` objects that were
 * loaded, `isolates` isolate ids used for the first time in a day. `activeMs` is how long an object was at work;
 * `cpuMs` is an estimate (`platform-prices.ts`), everything else is counted.
 */
export const platformUnits = [
  'rowsRead',
  'rowsWritten',
  'alarms',
  'wakes',
  'requests',
  'd1RowsRead',
  'd1RowsWritten',
  'kvReads',
  'kvWrites',
  'isolates',
  'activeMs',
  'cpuMs',
] as const

export type PlatformUnit = (typeof platformUnits)[number]

/** The amount of each unit; integers, an absent amount is zero. A correction is below zero. */
export type PlatformAmounts = Readonly<Partial<Record<PlatformUnit, number>>>

/** Somewhere amounts are counted. */
export interface PlatformCount {
  readonly count: (amounts: PlatformAmounts) => void
}

/** The platform's work of an object for one answer, and its earlier work that belonged to no caller. */
export interface Billed {
  readonly own: PlatformAmounts
  readonly others: PlatformAmounts
}
