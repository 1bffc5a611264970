// Bracketed paste: a terminal that knows it says where pasted text begins and ends, so that its line breaks send nothing.
import { Transform, type Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Input } from '../command.ts'

const begin = '\u001b[200~'
const end = '\u001b[201~'
/** Codes that ask a terminal to mark pasted text, and to stop doing so. */
export const paste = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

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
