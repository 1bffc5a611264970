import type { Generated } from './generated.mjs'

export interface TrimmedFile {
  readonly package: string
  readonly file: string
  /** Folder of the code that uses it. */
  readonly room: string
  /** Names by their class; `''` for what is no method. */
  readonly without: Readonly<Record<string, readonly string[]>>
  /** What functions of the module do instead. */
  readonly bodies?: Readonly<Record<string, string>>
  /** First lines of blocks that nothing comes to, each as it is written. */
  readonly blocks?: readonly string[]
  /** Tables that are cut down to these entries. */
  readonly keeps?: Readonly<Record<string, readonly string[]>>
}

export declare function sourceOf(entry: TrimmedFile): string
export declare function targetOf(entry: TrimmedFile): string
export declare function trim(entry: TrimmedFile): string
export declare const trimmedFiles: Generated
