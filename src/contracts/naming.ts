/**
 * One text for a list of parts, another for any other list: `['ab', 'c']` and `['a', 'bc']` differ. Durable Objects
 * are named by a hash of it, so that no two lists of parts can be mistaken for each other (docs/security.md T2).
 */
export const lengthPrefixed = (parts: readonly string[]): string =>
  parts.map((part) => `${part.length}:${part}`).join('')

/** The parts of the name of a principal's object; every room that calls the object derives the name from them. */
export const principalParts = (principal: string): readonly string[] => ['principal', principal]
