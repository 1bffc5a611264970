import { z } from 'zod'
import type { Clock } from '#contracts/sources.ts'
import type { Strip } from '../isolate/worker-code.ts'
import type { FolderDeps } from './folder-to-bundle.ts'
import { quoted, refused } from './refused.ts'

const timeoutMs = 10_000
/** Of a module that its author wrote; what a bundler makes comes as a bundle. */
const maxSourceChars = 512 * 1024

const answerSchema = z.union([
  z.strictObject({ code: z.string(), imports: z.array(z.string().max(1_000)).max(1_000) }),
  z.strictObject({ error: z.string().max(500) }),
])

export interface StripTypesDeps {
  /** Missing where the deployment has no Worker Loader. */
  readonly strip: Strip | undefined
  readonly clock: Clock
}

/**
 * Takes the types out of a module that came in an archive. The parser runs in an isolate of its own and for a limited
 * time: on nested arrows it takes exponentially long.
 */
export function createStripTypes({ strip, clock }: StripTypesDeps): FolderDeps['strip'] {
  return async (source, path) => {
    if (!strip)
      throw refused(
        'This deployment has no Worker Loader, so it takes no archive that has code. Run `isola plugin build` in the plugin’s folder and send the file that it writes.',
      )
    if (source.length > maxSourceChars)
      throw refused(
        `${quoted(path)} is longer than ${maxSourceChars} characters. Run \`isola plugin build\` and send the file that it writes.`,
      )
    const answer = answerSchema.safeParse(await timed(() => strip(source, path), { clock, path }))
    if (!answer.success) throw refused(`${quoted(path)} could not be read.`)
    if ('error' in answer.data) throw refused(`${quoted(path)}: ${quoted(answer.data.error)}`)
    return answer.data
  }
}

async function timed(
  work: () => Promise<unknown>,
  { clock, path }: { readonly clock: Clock; readonly path: string },
): Promise<unknown> {
  const timer = new AbortController()
  try {
    return await Promise.race([
      work()
        .then(toValue)
        .catch((error: unknown) => {
          throw refused(`${quoted(path)} could not be read.`, error)
        }),
      clock.sleep(timeoutMs, timer.signal).then(() => {
        throw refused(
          `${quoted(path)} took too long to read. Run \`isola plugin build\` and send the file that it writes.`,
        )
      }),
    ])
  } finally {
    timer.abort()
  }
}

/** What came out of the isolate is foreign: JSON text or nothing. */
function toValue(answer: unknown): unknown {
  return typeof answer === 'string' ? JSON.parse(answer) : undefined
}
