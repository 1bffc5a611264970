// The text of --help.
import { isClone } from '../scripts/toolchain.mjs'
import type { Module, Verb } from './command.ts'
import { flag, yes, type Options } from './options.ts'
import { lines } from './text.ts'

/** The options of a command with --json, and --yes where it asks. */
export const optionsOf = (command: Verb): Options => ({
  ...command.options,
  ...(command.asks && yes),
  json: flag('the answer as JSON'),
})

function optionLines(all: Options) {
  const heads = Object.entries(all).map(([name, option]) => {
    const value = option.type === 'string' ? ` <${option.value || 'value'}>` : ''
    return [
      `${option.short ? `-${option.short}, ` : ''}--${name}${value}`,
      `${option.about ?? ''}${option.multiple ? ' (may be repeated)' : ''}`,
    ]
  })
  const width = Math.max(...heads.map(([head = '']) => head.length))
  return heads.map(([head = '', about]) => `  ${head.padEnd(width)}  ${about}`.trimEnd())
}

/** A command's help; a noun's, if no command is named: its verbs. */
export function helpOf(module: Module, command?: Verb): string {
  if (command) {
    const { usage, about } = command
    return lines(`usage: ${usage}`, about && ['', about], '', optionLines(optionsOf(command)))
  }
  const told = Object.values(module.verbs ?? {}).map(
    ({ usage, about }) => `  ${usage}${about ? `\n      ${about.split('\n')[0]}` : ''}`,
  )
  return lines(`usage: isola ${module.noun} <verb>`, '', told)
}

/** Every command, a line each. */
export function overview(modules: readonly Module[]): string {
  const usages = modules.flatMap(({ usage, verbs = {} }) =>
    usage === undefined ? Object.values(verbs).map((verb) => verb.usage) : usage,
  )
  return lines(
    'usage: isola <command> [options]',
    '',
    usages.map((usage) => `  ${usage}`),
    '',
    isClone
      ? 'Talks to ISOLA_URL with ISOLA_KEY; without them to the local server with the key of .dev.vars.'
      : 'Talks to ISOLA_URL (http://localhost:8787 if that is not set) with ISOLA_KEY.',
    'Every command takes --help, and --json if it shows something. Exit code: 0, 1 failed, 2 wrong usage, 3 a ' +
      'run waits for you.',
  )
}
