/**
 * Fetches a picture from a public address: at most 1 MiB within 15 seconds, PNG, JPEG, GIF or WebP by its bytes.
 *
 * @returns A data URL. Rejects with an error whose message may be told to whoever gave the address.
 */
export type ReadImage = (url: string, signal?: AbortSignal) => Promise<string>
