/**
 * The version of an object's tables. A change of any table takes the next number, and a step in `object-upgrades.ts`.
 */
export const tablesVersion = 1

/**
 * Stands in the text of each table that an object makes: SQLite keeps the text, so the version takes no row. A table
 * without it was made before the first release (docs/decisions/0111).
 */
export const tablesMark = `/* isola tables ${tablesVersion} */`
