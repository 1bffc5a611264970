// The texts of a PDF by page, read in a process of its own: with bounded memory, a deadline, and nothing that is run.
import { spawn, type SpawnOptions } from 'node:child_process'

const maxPages = 2_000
const deadlineMs = 120_000
/** Limit of the heap. Memory outside of the heap, such as an unpacked stream, shows only in the size of the process. */
const heapMb = 768
const maxMemoryMb = 1_024
const watchMs = 20

/** The limits of a PDF; tests lower them. */
interface PdfLimits {
  readonly memoryMb?: number
  readonly timeoutMs?: number
}

/**
 * In a thread of that process: plain JavaScript, since the packed command has one file. Its reader evaluates nothing of
 * a PDF.
 */
const reading = `
  import { parentPort, workerData } from 'node:worker_threads'
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

/** The process: its first thread only watches how large it is, and ends it. It ends with the command, too. */
const watching = `
  import { Worker } from 'node:worker_threads'
  const end = (answer) => process.connected ? process.send(answer, () => process.exit(0)) : process.exit(1)
  process.once('disconnect', () => process.exit(1))
  process.once('message', ({ reading, memoryMb, heapMb, watchMs, ...about }) => {
    setInterval(() => {
      if (process.memoryUsage.rss() > memoryMb * 1024 * 1024)
        end({ problem: 'it takes more than ' + memoryMb + ' MiB of memory to read' })
    }, watchMs)
    const chunks = []
    process.stdin.on('data', (chunk) => chunks.push(chunk)).once('end', () => {
      const workerData = { ...about, bytes: Uint8Array.from(Buffer.concat(chunks)) }
      const thread = new Worker(reading, { eval: true, env: {}, stdout: true, stderr: true, workerData,
        resourceLimits: { maxOldGenerationSizeMb: heapMb } })
      thread.once('message', end)
      thread.once('error', (error) => end({ problem: error.message }))
      thread.once('exit', () => end({ problem: 'its reader ended' }))
    })
  })`

interface Answer {
  readonly pages?: readonly string[]
  readonly problem?: string
}

/**
 * Throws, in words for the person that named the file, if it cannot be read, takes too long or too much, or has no
 * text.
 */
export async function readPdf(
  bytes: Uint8Array,
  { memoryMb = maxMemoryMb, timeoutMs = deadlineMs }: PdfLimits = {},
): Promise<readonly string[]> {
  const library = import.meta.resolve('unpdf')
  const flags = [`--max-old-space-size=${heapMb}`, '--input-type=module', '--eval', watching]
  // Nothing of the environment, which has keys in it.
  const options = { env: {}, stdio: ['pipe', 'ignore', 'ignore', 'ipc'] }
  const child = spawn(process.execPath, flags, options as unknown as SpawnOptions)
  let late: NodeJS.Timeout | undefined
  try {
    const { pages, problem } = await new Promise<Answer>((resolve) => {
      const seconds = timeoutMs / 1_000
      late = setTimeout(
        () => resolve({ problem: `it takes more than ${seconds} seconds` }),
        timeoutMs,
      )
      child.once('message', (answer) => resolve(answer as Answer))
      child.once('error', (error) => resolve({ problem: error.message }))
      child.once('exit', () => resolve({ problem: 'its reader ended' }))
      // It may be gone before it has read all: that it ended says why.
      child.stdin!.on('error', () => {})
      child.send({ reading, library, maxPages, memoryMb, heapMb, watchMs })
      child.stdin!.end(bytes)
    })
    if (!pages) throw new Error(`The PDF cannot be read: ${problem?.replace(/\.$/, '')}.`)
    if (pages.every((page) => page.trim() === ''))
      throw new Error('The PDF has no text: it may be pictures of pages.')
    return pages
  } finally {
    clearTimeout(late)
    child.kill('SIGKILL')
  }
}
