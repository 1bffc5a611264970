/** Secrets that every deployment has, each with how one is made. */
export declare const newSecrets: Readonly<
  Record<'ISOLA_OPERATOR_KEY' | 'ISOLA_MASTER_KEY', () => string>
>
export declare const passedOn: readonly string[]
export declare function parseVars(text: string): Record<string, string>
/** Undefined if there is no such file. Throws with what to do about one that cannot be read. */
export declare function readVarsText(path: string): string | undefined
export declare function ensureVars(path: string): {
  readonly vars: Record<string, string>
  readonly created: boolean
  readonly added: readonly string[]
}
