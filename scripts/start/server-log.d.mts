export declare const maxLogBytes: number
export declare const logPath: (env?: Readonly<Record<string, string | undefined>>) => string
export declare function createServerLog(
  path: string,
  options?: { readonly maxBytes?: number; readonly now?: () => Date },
): (line: string) => void
