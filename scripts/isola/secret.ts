// isola secret …: values that plugins use and never see.
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context } from './command.ts'
import { readHidden } from './secret/hidden-input.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

function rowsOf({ secrets, missing }: Reply<'GET /api/operator/secrets'>) {
  const lines = [
    ...secrets.map((one) => [one.name, time(one.setAtMs), one.setBy, one.askedBy.join(', ')]),
    ...missing.map((one) => [one.name, 'not set', '', one.askedBy.join(', ')]),
  ]
  if (lines.length === 0) return 'No secrets, and no plugin asks for one.'
  return table([['name', 'set', 'by', 'asked for by'], ...lines])
}

async function set({ args: [name], request, print, stdin, stderr }: Context<object, [string]>) {
  const value = await readHidden(`Value of ${name}: `, { stdin, stderr })
  if (value === '') throw new UsageError('There was no value on the standard input.')
  const made = await request('POST /api/operator/secrets', { body: { name, value } })
  print(made, `${made.name} is set. No command shows it again; the next call of a plugin uses it.`)
}

async function list({ request, print }: Context) {
  const listed = await request('GET /api/operator/secrets')
  print(listed, rowsOf(listed))
}

async function remove({ args: [name], request, print }: Context<object, [string]>) {
  const answer = await request('DELETE /api/operator/secrets/:name', { params: { name } })
  print(answer, `${name} is removed: a plugin that uses it fails with the next call.`)
}

/** @returns 1 if some are left under a key that is not here. */
async function rotate({ request, print, stderr }: Context) {
  const answer = await request('POST /api/operator/secrets/rotate')
  const lines = [
    `${answer.rotated} sealed anew, ${answer.current} were under this key already.`,
    ...(answer.failed.length === 0 ? ['ISOLA_MASTER_KEY_PREVIOUS may be removed.'] : []),
  ]
  print(answer, lines.join('\n'))
  for (const { message } of answer.failed) stderr.write(`${short(message, Infinity)}\n`)
  return answer.failed.length === 0 ? 0 : 1
}

export default {
  noun: 'secret',
  verbs: defineVerbs({
    set: {
      usage: 'isola secret set <name>',
      about:
        'Asks for the value, hidden, or reads it from the standard input (one line break at its end is taken off).\n' +
        'Never from the command line: others on the machine could read it there.',
      options: {},
      run: set,
    },
    list: {
      usage: 'isola secret list',
      about: 'Which are set, and which a plugin asks for; never a value.',
      options: {},
      run: list,
    },
    remove: {
      usage: 'isola secret remove <name> [--yes]',
      about: 'Takes a secret away, at once.',
      asks: ({ args: [name] }: Context<object, [string]>) =>
        `Remove ${short(name)}, which nobody can read back?`,
      options: {},
      run: remove,
    },
    rotate: {
      usage: 'isola secret rotate',
      about:
        'Seals all of them under the new ISOLA_MASTER_KEY; the old one is ISOLA_MASTER_KEY_PREVIOUS.',
      options: {},
      run: rotate,
    },
  }),
}
