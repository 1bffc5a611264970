/** What one ES module answers to its `fetch`, as text; see sandbox.mjs. */
export declare function runAlone(
  contents: string,
  options?: {
    readonly host?: string
    readonly onLine?: (line: string) => void
    readonly timeoutMs?: number
  },
): Promise<string>
