export const notYet: Readonly<Record<string, readonly string[]>>
export function againstHouse(
  from: string,
  to: string,
  exceptions?: Readonly<Record<string, readonly string[]>>,
): string | undefined
