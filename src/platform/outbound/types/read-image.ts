import type { OutboundReport } from '#contracts/outbound.ts'

/** Of one picture: as base64 it has to fit the row of what was said. */
export const maxImageBytes = 1024 * 1024

/**
 * Fetches a picture from a public address: at most 1 MiB within 15 seconds, PNG, JPEG, GIF or WebP by its bytes.
 *
 * @param options.maxBytes Where there is room for less: what is larger is not read to its end (`too_large`).
 * @param options.onHop Told of each host that is asked, or refused.
 * @returns A data URL. Rejects with an error whose message may be told to whoever gave the address.
 */
export type ReadImage = (
  url: string,
  options?: {
    readonly signal?: AbortSignal
    readonly maxBytes?: number
    readonly onHop?: (report: OutboundReport) => void
  },
) => Promise<string>
