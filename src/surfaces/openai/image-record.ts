import { defined } from '#contracts/defined.ts'
import { deploymentEvent, type DeploymentEventData } from '#contracts/event.ts'
import { OutboundError } from '#contracts/outbound.ts'
import type { ReadImage } from '#platform/outbound/types.ts'
import type { OpenaiDeps } from './deps.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** One fetch under way and its state: a client that leaves early aborts it. */
interface Attempt {
  readonly host: string
  readonly hosts: string[]
  verdict: string
  sizeBytes?: number
}

/** The fetches of a request before its run begins, and their place on the record. */
export interface ImageRecord {
  readonly readImage: ReadImage
  /** Never rejects: a request is not refused for its record, of which the operator's log has then that it is missing. */
  readonly write: () => Promise<void>
}

/** Reads images with a reader, and notes the hosts and the outcome of each. Of an address only the host. */
export function createImageRecord(
  readImage: ReadImage,
  deps: OpenaiDeps,
  context: RequestContext,
): ImageRecord {
  const attempts: Attempt[] = []
  return {
    async readImage(url, options) {
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
