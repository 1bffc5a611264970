import { defined } from '#contracts/defined.ts'
import { deploymentEvent, type DeploymentEventData } from '#contracts/event.ts'
import { OutboundError } from '#contracts/outbound.ts'
import { type ReadImage, maxImageBytes } from '#platform/outbound/types.ts'
import type { OpenaiDeps } from './work.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import { type Message, labelOf } from '#contracts/message.ts'
import { invalid, type Said, type SaidImage } from './history.ts'

/** One fetch under way and its state: a client that leaves early aborts it. */
interface Attempt {
  readonly host: string
  readonly hosts: string[]
  verdict: string
  sizeBytes?: number
}

/** The fetches of a request before its run begins, and their place on the record. */
interface ImageRecord {
  readonly readImage: ReadImage
  /**
   * Never rejects: a request is not refused for its record, of which the operator's log has then that it is missing.
   */
  readonly write: () => Promise<void>
}

/** Reads images with a reader, and notes the hosts and the outcome of each. Of an address only the host. */
function createImageRecord(
  readImage: ReadImage,
  deps: OpenaiDeps,
  context: RequestContext,
): ImageRecord {
  const attempts: Attempt[] = []
  return {
    async readImage(url, options) {
      await context.prove() // a request leaves here, before the session has asked about the caller's key
      const host = URL.canParse(url) ? new URL(url).hostname : ''
      const attempt: Attempt = { host, hosts: [], verdict: 'aborted' }
      attempts.push(attempt)
      try {
        const onHop = (hop: { readonly host: string }) => void attempt.hosts.push(hop.host)
        const inline = await readImage(url, { ...options, onHop })
        attempt.verdict = 'fetched'
        attempt.sizeBytes = sizeOf(inline)
        return inline
      } catch (error) {
        attempt.verdict = error instanceof OutboundError ? error.failure : 'failed'
        throw error
      }
    },
    async write() {
      if (attempts.length === 0) return
      const request = context.requestId
      const { trace } = context.trace()
      const place = {
        principal: context.caller.id,
        trace,
        atMs: deps.sources.clock.nowMs(),
      }
      const data = { images: attempts.map(toImage), request }
      const event = deploymentEvent('images_fetched', place, data)
      await deps.deploymentLog
        .append(event)
        .catch((error: unknown) => deps.onFault?.(error, request))
    },
  }
}

function toImage({ host, hosts, verdict, sizeBytes }: Attempt): Image {
  const isElsewhere = hosts.some((one) => one !== host)
  return {
    host,
    ...(isElsewhere && { hosts }),
    verdict,
    ...defined({ sizeBytes }),
  }
}

type Image = DeploymentEventData<'images_fetched'>['images'][number]

/** The number of bytes in a data URL. */
function sizeOf(dataUrl: string): number {
  const base64 = dataUrl.slice(dataUrl.indexOf(',') + 1)
  const padding = /(?<!=)=+$/.exec(base64)?.[0].length ?? 0
  return (base64.length / 4) * 3 - padding
}

/** Of one request: the client waits while each is fetched. */
const maxAddresses = 8
/**
 * The most characters as data URLs, each image as often as it is named: all of them are stored in rows of at most 2
 * MB.
 */
const maxInlineChars = 1_900_000
/** The most fetches at once: no other limit holds before a run begins. */
const maxAtOnce = 2

type UserMessage = Extract<Message, { role: 'user' }>

/** The same list with the images inline. */
export type InlineImages = (all: readonly Said[]) => Promise<readonly Said[]>

/**
 * Fetches the images that a request names by their address, once, before anything else is done with it: the session
 * stores the image itself, and sends it to a model again and again. A stranger can have put the image at its address.
 *
 * The record has each host that was asked. Where every model server may be given addresses they stay, labelled all
 * the same.
 *
 * @throws `request_invalid` naming the part that cannot be fetched; `request_too_large` naming the one with which
 *   they are
 * too large together, and none after it is fetched.
 */
export const createInlineImages =
  (deps: OpenaiDeps, context: RequestContext): InlineImages =>
  async (all) => {
    const record = deps.readImage && createImageRecord(deps.readImage, deps, context)
    try {
      return await inlineImages(all, record?.readImage, context.raw.signal)
    } finally {
      await record?.write()
    }
  }

async function inlineImages(
  all: readonly Said[],
  readImage: ReadImage | undefined,
  signal: AbortSignal,
): Promise<readonly Said[]> {
  const asked = all.flatMap(imagesIn).filter(({ url }) => isAddress(url))
  if (asked.length === 0) return all
  const byUrl = Map.groupBy(asked, ({ url }) => url)
  const tooMany = [...byUrl.values()][maxAddresses]?.[0]
  if (readImage && tooMany)
    throw invalid(tooMany.at, `is more than ${maxAddresses} images by address: send a data URL`)
  const fetched: ReadonlyMap<string, string> = readImage
    ? await fetchAll([...byUrl.values()], { readImage, signal })
    : new Map()
  const toInline = (url: string): string => fetched.get(url) ?? url
  return all.map((said) => {
    if (said.kind === 'user') {
      const images = said.images.map((image) => ({ ...image, url: toInline(image.url) }))
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
  const images = said.messages.flatMap((one) => (one.role === 'user' ? (one.images ?? []) : []))
  return images.map((image) => ({ ...image, at: said.at }))
}

function withImages(message: UserMessage, toInline: (url: string) => string): Message {
  const { images } = message
  if (!images) return message
  const { label } = labelled(images.map(({ url }) => url))
  const joined = label && { label: joinLabels([labelOf(message), label]) }
  const inlined = images.map((image) => ({ ...image, url: toInline(image.url) }))
  return { ...message, images: inlined, ...joined }
}

/** The label of images by address, for their whole message: its text is read together with them. */
function labelled(urls: readonly string[]): { readonly label?: Label } {
  const addresses = urls.filter((url) => isAddress(url) && URL.canParse(url))
  if (addresses.length === 0) return {}
  const labels = addresses.map((url) =>
    labelFrom(`image ${new URL(url).host}`, { integrity: 'stranger', confidentiality: 'public' }),
  )
  return { label: joinLabels([saidLabel, ...labels]) }
}

interface Fetching {
  readonly readImage: ReadImage
  readonly signal: AbortSignal
}

/**
 * Data URLs by their address.
 *
 * @param images Of each address all the places that name it.
 */
async function fetchAll(
  images: readonly (readonly SaidImage[])[],
  { readImage, signal }: Fetching,
): Promise<ReadonlyMap<string, string>> {
  const fetched = new Map<string, string>()
  const ended = new AbortController()
  const either = AbortSignal.any([signal, ended.signal])
  let leftChars = maxInlineChars
  const fetchOne = async (places: readonly SaidImage[]) => {
    const [{ url, at }] = places as [SaidImage]
    const maxBytes = Math.floor(leftChars / places.length / 4) * 3
    const inline = await readAt({ url, at }, maxBytes, { readImage, signal: either })
    return { url, at, inline, chars: inline.length * places.length }
  }
  try {
    for (let from = 0; from < images.length; from += maxAtOnce) {
      const some = await Promise.all(images.slice(from, from + maxAtOnce).map(fetchOne))
      for (const { url, at, inline, chars } of some) {
        leftChars -= chars
        if (leftChars < 0) throw tooLarge(at)
        fetched.set(url, inline)
      }
    }
    return fetched
  } finally {
    // The other one, if this one failed.
    ended.abort()
  }
}

async function readAt(
  { url, at }: SaidImage,
  maxBytes: number,
  { readImage, signal }: Pick<Fetching, 'readImage' | 'signal'>,
): Promise<string> {
  try {
    return await readImage(url, { signal, maxBytes })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.failure === 'too_large' && maxBytes < maxImageBytes) throw tooLarge(at)
    const why = errorMessage(error).replace(/\.$/, '')
    throw invalid(at, `could not be fetched (${why}); a data URL needs no fetching`)
  }
}

function tooLarge(at: string): IsolaError {
  const message =
    `${at}: with it the images that are given by address have more than ${maxInlineChars} characters as ` +
    'data URLs, each as often as it is named.'
  return new IsolaError('request_too_large', message, { param: at })
}
