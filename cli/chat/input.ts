// Lines of a person at a terminal, or of a file or pipe.
import { createInterface } from 'node:readline'
import type { Io } from '../command.ts'
import { createPasteReader, paste, restored } from './paste.ts'

/** Ctrl-C reaches us twice where npm stands between: once from the terminal, once passed on. */
const sameInterruptMs = 250

interface Handlers {
  readonly onLine: (line: string) => unknown
  readonly onInterrupt: () => unknown
}
/** Lines as they come. */
export interface Lines {
  readonly next: (prompt: string, signal?: AbortSignal) => Promise<string | undefined>
  readonly close: () => void
  readonly isTerminal: boolean
  readonly isTyping: () => boolean
}

/**
 * @param handlers.onLine Sees each line of a terminal as it is typed; true takes it. A pipe's lines wait for their turn.
 * @param handlers.onInterrupt Called for Ctrl-C.
 * @returns `next(prompt, signal)` resolves to the next line, to undefined at the end of the input or when aborted. A paste at
 *   a terminal is one line that keeps its line breaks.
 */
export function openInput(
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
  handlers: Handlers,
): Lines {
  const { onLine, onInterrupt } = handlers
  const isTerminal = stdin.isTTY === true
  const reader = createInterface({
    input: isTerminal ? createPasteReader(stdin) : stdin,
    terminal: isTerminal,
    // readline only writes to its output.
    ...(isTerminal && { output: stderr as NodeJS.WritableStream }),
  })
  if (isTerminal) stderr.write(paste.on)
  const lines: string[] = []
  let isOver = false
  let wake = () => {}
  let lastInterruptMs = -Infinity

  reader.on('line', (typed) => {
    const line = isTerminal ? restored(typed) : typed
    if (isTerminal && onLine(line)) return
    lines.push(line)
    wake()
  })
  reader.on('close', () => {
    isOver = true
    wake()
  })
  const interrupt = () => {
    const nowMs = performance.now()
    if (nowMs - lastInterruptMs < sameInterruptMs) return
    lastInterruptMs = nowMs
    onInterrupt()
  }
  reader.on('SIGINT', interrupt)
  process.on('SIGINT', interrupt)

  const next = async (prompt: string, signal?: AbortSignal) => {
    if (isTerminal && lines.length === 0) {
      reader.setPrompt(prompt)
      reader.prompt()
    }
    const stop = () => wake()
    signal?.addEventListener('abort', stop)
    while (lines.length === 0 && !isOver && !signal?.aborted)
      await new Promise<void>((resolve) => (wake = resolve))
    signal?.removeEventListener('abort', stop)
    return signal?.aborted ? undefined : lines.shift()
  }
  const close = () => {
    process.off('SIGINT', interrupt)
    if (isTerminal) stderr.write(paste.off)
    reader.close()
    // Unread input of a pipe must not keep the process.
    stdin.unpipe()
    stdin.pause()
    stdin.unref?.()
  }
  return { next, close, isTerminal, isTyping: () => isTerminal && reader.line !== '' }
}
