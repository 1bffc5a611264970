// isola secret …: values that plugins use and never see.

import { type Input, type Terminal, noun, on, verb } from './command.ts'
import { listed, short, time } from './text.ts'
import { UsageError } from './options.ts'

// A value that the terminal does not show while a person types it.

const maxChars = 64 * 1024

/** @returns The line typed at a terminal, unseen, or all of a pipe or file without its last line break. */
function readHidden(prompt: string, { stdin, stderr }: Terminal) {
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

function typed(prompt: string, { stdin, stderr }: Terminal) {
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

export default noun('secret', {
  set: on('POST /api/operator/secrets', {
    usage: '<name>',
    about:
      'Asks for the value, hidden, or reads it from the standard input (one line break at its end is taken off).\n' +
      'Never from the command line: others on the machine could read it there.',
    async sends({ args: [name], ...io }) {
      const value = await readHidden(`Value of ${name}: `, io)
      if (value === '') throw new UsageError('There was no value on the standard input.')
      return { value }
    },
    says: ({ name }) =>
      `${name} is set. No command shows it again; the next call of a plugin uses it.`,
  }),
  list: on('GET /api/operator/secrets', {
    about: 'Which are set, and which a plugin asks for; never a value.',
    says: ({ secrets, missing }) =>
      listed(
        [
          ...secrets.map((one) => ({ ...one, set: time(one.setAtMs) })),
          ...missing.map((one) => ({ ...one, set: 'not set', setBy: '' })),
        ],
        'No secrets, and no plugin asks for one.',
        { name: 'name', set: 'set', by: 'setBy', 'asked for by': (one) => one.askedBy.join(', ') },
      ),
  }),
  remove: on('DELETE /api/operator/secrets/:name', {
    usage: '<name>',
    about: 'Takes a secret away, at once.',
    asks: (name) => `Remove ${name}, which no command can read back?`,
    says: (_answer, { args: [name] }) =>
      `${name} is removed: a plugin that uses it fails with the next call.`,
  }),
  rotate: verb({
    about:
      'Seals all of them under the new ISOLA_MASTER_KEY; the old one is ISOLA_MASTER_KEY_PREVIOUS.',
    /** @returns 1 if some are left under a key that is not here. */
    async run({ ask, print, stderr }) {
      const answer = await ask('POST /api/operator/secrets/rotate')
      const { rotated, current, failed } = answer
      const over = failed.length === 0 ? '\nISOLA_MASTER_KEY_PREVIOUS may be removed.' : ''
      print(answer, `${rotated} sealed anew, ${current} were under this key already.${over}`)
      for (const { message } of failed) stderr.write(`${short(message, Infinity)}\n`)
      return failed.length === 0 ? 0 : 1
    },
  }),
})
