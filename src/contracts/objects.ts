/**
 * The version of an object's tables. A change of any table takes the next number, and a step in `object-upgrades.ts`.
 */
export const tablesVersion = 1

/**
 * Stands in the text of each table that an object makes: SQLite keeps the text, so the version takes no row. A table
 * without it was made before the first release (docs/decisions/0111).
 */
export const tablesMark = `/* isola tables ${tablesVersion} */`

/**
 * One text for a list of parts, another for any other list: `['ab', 'c']` and `['a', 'bc']` differ. Durable Objects
 * are named by a hash of it, so that no two lists of parts can be mistaken for each other (docs/security.md T2).
 */
export const lengthPrefixed = (parts: readonly string[]): string =>
  parts.map((part) => `${part.length}:${part}`).join('')

/** The parts of the name of a principal's object; every room that calls the object derives the name from them. */
export const principalParts = (principal: string): readonly string[] => ['principal', principal]
