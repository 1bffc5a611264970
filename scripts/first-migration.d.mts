export function migrationFiles(): readonly string[]
export function isOfOlderBuild(applied: readonly string[]): boolean
