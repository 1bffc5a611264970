/** JSON has no `undefined`: that is what is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null
