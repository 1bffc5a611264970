/** As a person reads it. */
export const sizeText = (sizeBytes: number): string => `${sizeBytes / 1_048_576} MiB`
