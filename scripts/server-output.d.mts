export declare function createLineFilter(options?: {
  readonly isColoured?: boolean
}): (line: string) => string | undefined
