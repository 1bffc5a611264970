// The text of --help.
import { isClone } from '../scripts/toolchain.mjs'
import type { Module, Verb } from './command.ts'
import { flag, yes, type Options } from './options.ts'

const valueOf = { string: ' <value>', boolean: '' }

/** The options of a command with --json, and --yes where it asks. */
export const optionsOf = (command: Verb): Options => ({
  ...command.options,
  ...(command.asks && yes),
  json: flag('the answer as JSON'),
})

function optionLines(all: Options) {
  const heads = Object.entries(all).map(([name, option]) => [
    `${option.short ? `-${option.short}, ` : ''}--${name}${option.value ? ` <${option.value}>` : valueOf[option.type]}`,
    `${option.about ?? ''}${option.multiple ? ' (may be repeated)' : ''}`,
  ])
  const width = Math.max(...heads.map(([head = '']) => head.length))
  return heads.map(([head = '', about]) => `  ${head.padEnd(width)}  ${about}`.trimEnd())
}

/** A command's help; a noun's, if no command is named: its verbs. */
export function helpOf(module: Module, command?: Verb): string {
  if (command) {
    return [
      `usage: ${command.usage}`,
      ...(command.about ? ['', command.about] : []),
      '',
      ...optionLines(optionsOf(command)),
    ].join('\n')
  }
  const verbs = Object.values(module.verbs ?? {})
  const lines = verbs.map(
    ({ usage, about }) => `  ${usage}${about ? `\n      ${about.split('\n')[0]}` : ''}`,
  )
  return [`usage: isola ${module.noun} <verb>`, '', ...lines].join('\n')
}

/** Every command, a line each. */
export function overview(modules: readonly Module[]): string {
  const lines = modules.flatMap((module) =>
    (module.usage === undefined ? Object.values(module.verbs ?? {}) : [module]).map(
      ({ usage }) => `  ${usage}`,
    ),
  )
  return [
    'usage: isola <command> [options]',
    '',
    ...lines,
    '',
    isClone
      ? 'Talks to ISOLA_URL with ISOLA_KEY; without them to the local server with the key of .dev.vars.'
      : 'Talks to ISOLA_URL (http://localhost:8787 if that is not set) with ISOLA_KEY.',
    'Every command takes --help, and --json if it shows something. Exit code: 0, 1 failed, 2 wrong usage, 3 a run waits for you.',
  ].join('\n')
}
