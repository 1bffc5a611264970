export interface Length {
  readonly isFile: boolean
  readonly place: string
  readonly name: string
  readonly lines: number
}
export function measureLengths(
  base: string,
): Promise<{ readonly functions: readonly Length[]; readonly files: readonly Length[] }>
export function exportsIn(
  source: string,
): readonly { readonly name: string; readonly line: number; readonly isDocumented: boolean }[]
