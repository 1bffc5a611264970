// Lines of a person at a terminal, or of a file or pipe.

import { Transform, type Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Input, Terminal } from '../command.ts'
import { createInterface } from 'node:readline'

// Bracketed paste: a terminal that knows it says where pasted text begins and ends, so that its line breaks send
// nothing.

const begin = '\u001b[200~'
const end = '\u001b[201~'
/** Codes that ask a terminal to mark pasted text, and to stop doing so. */
const paste = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

/** Stands for a line break in the line that is edited: one visible character. */
const standIn = '\u2424'
export const restored = (line: string): string => line.replaceAll(standIn, '\n')

/** How many characters at the end of a text may be the beginning of a mark that the next piece completes. */
function unfinished(text: string, mark: string): number {
  // Shorter beginnings are those of other keys, which must not wait.
  for (let length = mark.length - 1; length > 2; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}

/** A terminal's input for readline, with the line breaks of what is pasted replaced, whatever pieces it comes in. */
export function createPasteReader(stdin: Input): Readable {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let isPasted = false
  const clean = (text: string) => (isPasted ? text.replace(/\r\n?|\n/g, standIn) : text)

  const read = (piece: string) => {
    let text = rest + piece
    let read = ''
    rest = ''
    for (;;) {
      const mark = isPasted ? end : begin
      const at = text.indexOf(mark)
      if (at === -1) break
      read += clean(text.slice(0, at))
      text = text.slice(at + mark.length)
      isPasted = !isPasted
    }
    const kept = unfinished(text, isPasted ? end : begin)
    rest = text.slice(text.length - kept)
    return read + clean(text.slice(0, text.length - kept))
  }

  const reader = new Transform({
    transform: (chunk, _encoding, done) => done(null, read(decoder.write(chunk))),
    flush: (done) => done(null, rest),
  })
  // readline sets the terminal's mode through its input.
  const terminal = Object.assign(reader, {
    isTTY: true,
    setRawMode: (isRaw: boolean) => (stdin.setRawMode?.(isRaw), reader),
  })
  return stdin.pipe(terminal)
}

/** Ctrl-C reaches us twice where npm stands between: once from the terminal, once passed on. */
const sameInterruptMs = 250

/** Lines as they come. */
export type Lines = ReturnType<typeof openInput>

/**
 * @param handlers.onLine Sees each line of a terminal as it is typed; true takes it. A pipe's lines wait for their
 *   turn.
 * @param handlers.onInterrupt Called for Ctrl-C.
 * @returns `next(prompt, signal)` resolves to the next line, to undefined at the end of the input or when aborted. A
 *   paste at
 *   a terminal is one line that keeps its line breaks.
 */
export function openInput(
  { stdin, stderr }: Terminal,
  {
    onLine,
    onInterrupt,
  }: { readonly onLine: (line: string) => unknown; readonly onInterrupt: () => unknown },
) {
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
