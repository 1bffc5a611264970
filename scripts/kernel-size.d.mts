export declare const maxKernelLines: number
export declare const maxKernelFileLines: number
export declare function countCodeLines(source: string): number
export declare function countWorkingLines(source: string): number
export declare function measureKernel(sourceFolder: string): {
  readonly lines: number
  readonly files: readonly { readonly path: string; readonly lines: number }[]
  readonly problems: readonly string[]
}
