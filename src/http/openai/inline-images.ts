import { errorMessage } from '#contracts/errors.ts'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import { labelOf } from '#contracts/message-label.ts'
import { OutboundError } from '#contracts/outbound.ts'
import type { ReadImage } from '#contracts/read-image.ts'
import { invalid, type Said, type SaidImage } from './history.ts'

/** Of one request: each is fetched while somebody waits. */
const maxAddresses = 8

type UserMessage = Extract<Message, { role: 'user' }>

/** The same list with the pictures in it. */
export type InlineImages = (all: readonly Said[]) => Promise<readonly Said[]>

/**
 * Fetches the pictures that a request names by their address, once, before anything else is done with it: what is kept,
 * and sent to a model again and again, is the picture. What is at an address was put there by anybody.
 *
 * @param readImage Absent where every model server may be given addresses: then they stay, labelled all the same.
 * @throws `request_invalid` naming the part that cannot be fetched.
 */
export const createInlineImages =
  (readImage: ReadImage | undefined, signal: AbortSignal): InlineImages =>
  (all) =>
    inlineImages(all, readImage, signal)

async function inlineImages(
  all: readonly Said[],
  readImage: ReadImage | undefined,
  signal: AbortSignal,
): Promise<readonly Said[]> {
  const asked = all.flatMap(imagesIn).filter(({ url }) => isAddress(url))
  if (asked.length === 0) return all
  const byUrl = new Map(asked.map((image) => [image.url, image]))
  const tooMany = [...byUrl.values()][maxAddresses]
  if (readImage && tooMany)
    throw invalid(tooMany.at, `is more than ${maxAddresses} images by address: send a data URL`)
  const fetched = new Map(
    await Promise.all(
      [...byUrl.values()].map(async ({ url, at }) => {
        const inline = readImage ? await readAt(url, at, { readImage, signal }) : url
        return [url, inline] as const
      }),
    ),
  )
  const toInline = (url: string) => fetched.get(url) ?? url
  return all.map((said) => {
    if (said.kind === 'user') {
      const images = said.images.map(({ url, at }) => ({ url: toInline(url), at }))
      return { ...said, images, ...labelled(said.images.map(({ url }) => url)) }
    }
    if (said.kind !== 'compacted') return said
    const messages = said.messages.map((message) =>
      message.role === 'user' ? withImages(message, toInline) : message,
    )
    return { ...said, messages }
  })
}

const isAddress = (url: string) => /^https?:/i.test(url)

function imagesIn(said: Said): readonly SaidImage[] {
  if (said.kind === 'user') return said.images
  if (said.kind !== 'compacted') return []
  const urls = said.messages.flatMap((one) => (one.role === 'user' ? (one.images ?? []) : []))
  return urls.map((url) => ({ url, at: said.at }))
}

function withImages(message: UserMessage, toInline: (url: string) => string): Message {
  const { images } = message
  if (!images) return message
  const { label } = labelled(images)
  const joined = label && { label: joinLabels([labelOf(message), label]) }
  return { ...message, images: images.map(toInline), ...joined }
}

/** What the user said beside it is read together with it. */
function labelled(urls: readonly string[]): { readonly label?: Label } {
  const addresses = urls.filter((url) => isAddress(url) && URL.canParse(url))
  if (addresses.length === 0) return {}
  const labels = addresses.map((url) =>
    labelFrom(`image ${new URL(url).host}`, { integrity: 'stranger', confidentiality: 'public' }),
  )
  return { label: joinLabels([saidLabel, ...labels]) }
}

async function readAt(
  url: string,
  at: string,
  { readImage, signal }: { readonly readImage: ReadImage; readonly signal: AbortSignal },
): Promise<string> {
  try {
    return await readImage(url, signal)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const why = errorMessage(error).replace(/\.$/, '')
    throw invalid(at, `could not be fetched (${why}); a data URL needs no fetching`)
  }
}
