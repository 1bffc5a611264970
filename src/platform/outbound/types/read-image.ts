import type { OutboundReport } from '#contracts/outbound.ts'

/** The limit of one image: as base64 it has to fit the row of its message. */
export const maxImageBytes = 1024 * 1024

/**
 * Fetches a picture from a public address: at most 1 MiB within 15 seconds, PNG, JPEG, GIF or WebP by its bytes.
 *
 * @param options.maxBytes A lower limit: a larger image is not read to its end (`too_large`).
 * @param options.onHop Called for each host that is asked, or refused.
 * @returns A data URL. Rejects with an error whose message may be shown to the principal that gave the address.
 */
export type ReadImage = (
  url: string,
  options?: {
    readonly signal?: AbortSignal
    readonly maxBytes?: number
    readonly onHop?: (report: OutboundReport) => void
  },
) => Promise<string>
