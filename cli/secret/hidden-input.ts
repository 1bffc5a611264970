// A value that the terminal does not show while a person types it.
import type { Input, Io } from '../command.ts'

const maxChars = 64 * 1024

/** @returns The line typed at a terminal, unseen, or all of a pipe or file without its last line break. */
export function readHidden(prompt: string, { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>) {
  return stdin.isTTY === true ? typed(prompt, { stdin, stderr }) : piped(stdin)
}

async function piped(stdin: Input) {
  let text = ''
  stdin.setEncoding('utf8')
  for await (const chunk of stdin) {
    text += chunk
    if (text.length > maxChars) throw new Error('The value is longer than 16 KiB.')
  }
  return text.replace(/\r?\n$/, '')
}

function typed(prompt: string, { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>) {
  stderr.write(prompt)
  stdin.setRawMode?.(true)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise<string>((resolve, reject) => {
    let text = ''
    const end = (settle: () => void) => {
      stdin.setRawMode?.(false)
      stdin.pause()
      stdin.off('data', read)
      stderr.write('\n')
      settle()
    }
    const read = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n' || char === '\x04') return end(() => resolve(text))
        if (char === '\x03') return end(() => reject(new Error('Cancelled: nothing was set.')))
        text = char === '\x7f' || char === '\b' ? text.slice(0, -1) : text + char
      }
    }
    stdin.on('data', read)
  })
}
