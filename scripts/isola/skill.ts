// isola skill validate: what is wrong with skills in folders of this machine. No server is asked.
import { resolve } from 'node:path'
import { defineVerbs, type Context } from './command.ts'

/** npm runs us in the clone's folder: what is relative is so to where its user stands. */
const at = (given: string) => resolve(process.env['INIT_CWD'] ?? '.', given)

async function validate({ args: folders, print }: Context) {
  const { readSkillFolders } = await import('./skill-folders.ts')
  const files = folders.flatMap((given) =>
    readSkillFolders([at(given)]).map(({ path, skill, diagnostics }) => ({
      // As it was asked for.
      path: path.startsWith(at(given))
        ? `${given.replace(/\/+$/, '')}${path.slice(at(given).length)}`
        : path,
      loaded: skill !== undefined,
      ...(skill && { name: skill.name, description: skill.description }),
      diagnostics,
    })),
  )
  const isWrong = ({ diagnostics }: (typeof files)[number]) =>
    diagnostics.some(({ severity }) => severity !== 'note')
  const wrong = files.filter(isWrong)
  const lines = files.flatMap((file) => [
    `${file.path}: ${!file.loaded ? 'is skipped' : isWrong(file) ? 'is loaded, and not valid' : 'is valid'}`,
    ...file.diagnostics.map(
      ({ severity, field, message }) => `  ${severity}: ${field ? `${field} ` : ''}${message}`,
    ),
  ])
  const sum = `${files.length} read, ${files.filter(({ loaded }) => loaded).length} loaded, ${files.length - wrong.length} valid.`
  print(files, [...lines, '', sum].join('\n'))
  return wrong.length > 0 ? 1 : 0
}

export default {
  noun: 'skill',
  verbs: defineVerbs({
    validate: {
      usage: 'isola skill validate <folder…>',
      about: [
        'Reads every SKILL.md in and under these folders as the AgentSkills specification says. An error: it is not loaded;',
        'a warning: it is loaded, and not valid; a note: it is valid, and something of it has no effect. 1 if one is not valid.',
      ].join('\n'),
      run: validate,
    },
  }),
}
