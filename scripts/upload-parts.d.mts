export interface UploadPart {
  readonly origin: string
  readonly rawBytes: number
  readonly gzipBytes: number
}
export declare function partsOf(
  text: string,
  map: { readonly sources: readonly string[]; readonly mappings: string },
  originOf: (path: string) => string,
): readonly UploadPart[]
