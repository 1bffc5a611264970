// The texts of a PDF by page, read in a thread of its own: with bounded memory, a deadline, and nothing that is run.
import { Worker } from 'node:worker_threads'

const maxPages = 2_000
const deadlineMs = 120_000
const memoryMb = 768

/** In the thread: plain JavaScript, since the packed command has one file. Its reader evaluates nothing of a PDF. */
const reading = `
  const { parentPort, workerData } = require('node:worker_threads')
  const read = async () => {
    const { extractText, getDocumentProxy } = await import(workerData.library)
    const pdf = await getDocumentProxy(workerData.bytes, { isEvalSupported: false, verbosity: 0 })
    if (pdf.numPages > workerData.maxPages) return { problem: 'it has more than ' + workerData.maxPages + ' pages' }
    return extractText(pdf, { mergePages: false })
  }
  read().then(
    ({ text, problem }) => parentPort.postMessage({ pages: text, problem }),
    (error) => parentPort.postMessage({ problem: String(error && error.message).slice(0, 200) }),
  )`

interface Answer {
  readonly pages?: readonly string[]
  readonly problem?: string
}

/** Throws, in words for whoever named the file, if it cannot be read, takes too long, or has no text. */
export async function readPdf(bytes: Uint8Array): Promise<readonly string[]> {
  const library = import.meta.resolve('unpdf')
  const thread = new Worker(reading, {
    eval: true,
    env: {},
    stdout: true,
    stderr: true,
    workerData: { bytes: Uint8Array.from(bytes), library, maxPages },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  })
  let late: NodeJS.Timeout | undefined
  try {
    const { pages, problem } = await new Promise<Answer>((resolve) => {
      late = setTimeout(
        () => resolve({ problem: `it takes more than ${deadlineMs / 1_000} seconds` }),
        deadlineMs,
      )
      thread.once('message', resolve)
      thread.once('error', (error: Error) => resolve({ problem: error.message }))
      thread.once('exit', () => resolve({ problem: 'its reader ended' }))
    })
    if (!pages) throw new Error(`The PDF cannot be read: ${problem?.replace(/\.$/, '')}.`)
    if (pages.every((page) => page.trim() === ''))
      throw new Error('The PDF has no text: it may be pictures of pages.')
    return pages
  } finally {
    clearTimeout(late)
    await thread.terminate()
  }
}
