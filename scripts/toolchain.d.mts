export declare const root: string
/** Whether this is a clone, with the Worker in it; else the command alone, as `npm pack` made it. */
export declare const isClone: boolean
export declare function largeToolFile(name: string, ...parts: readonly string[]): string
export declare function toolNode(): string
export declare function toolEnv(
  extra?: Readonly<Record<string, string>>,
): Record<string, string | undefined>
export declare const tools: Readonly<
  Record<'knip' | 'oxfmt' | 'oxlint' | 'tsc' | 'vitest' | 'wrangler', string>
>
export declare function runNode(
  args: readonly string[],
  options?: {
    readonly capture?: boolean
    readonly env?: Readonly<Record<string, string>>
    readonly cwd?: string
  },
): Promise<{ readonly code: number; readonly output: string }>
export declare function staleReason(): string | undefined
export declare function ensureInstalled(): Promise<void>
