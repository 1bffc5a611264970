/** Files in which something is called `fetch` that is no way out, each with the reason. */
export const otherFetches: Readonly<Record<string, string>>
