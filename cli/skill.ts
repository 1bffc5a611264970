// isola skill validate|test: skills in folders of this machine, without a server. list|show|export: skills of the
// server.
// Drafts of agents are in skill-drafts.ts.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { Reply } from '../src/client/client.ts'
import { at } from './author-files.ts'
import { noun, on, verb } from './command.ts'
import { draftVerbs } from './skill-drafts.ts'
import type { SkillFile } from './skill-folders.ts'
import { adminVerbs } from './skill-admin.ts'
import { lines, listed, short, time } from './text.ts'

// isola skill export: the files of a skill of the server, as a folder here.

/**
 * Writes files below a folder that is not there yet. Throws, before anything is written, for a path that leads out of
 * it.
 *
 * @returns The paths.
 */
function writeFolder(folder: string, files: Readonly<Record<string, string>>) {
  if (existsSync(folder)) throw new Error(`${folder} is there already: name another folder`)
  const paths = Object.keys(files).toSorted()
  const wrong = paths.find((path) => !resolve(folder, path).startsWith(resolve(folder) + sep))
  if (wrong !== undefined) throw new Error(`the server names a file outside of the skill: ${wrong}`)
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), files[path] ?? '', { flag: 'wx' })
  }
  return paths
}

type Skill = Reply<'GET /api/operator/skills'>['skills'][number]

function stateOf({ kind, state, missing }: Skill) {
  if (state === 'gated') return `needs ${missing.join(', ')}`
  return state === 'ready' && kind === 'persona' ? 'never found' : state
}

function listing({ skills }: Reply<'GET /api/operator/skills'>) {
  const table = listed(skills, 'There is no skill.', {
    name: 'name',
    kind: 'kind',
    tier: 'tier',
    found: ({ tokens }) => tokens.found,
    loaded: ({ tokens }) => tokens.loaded,
    state: stateOf,
    description: ({ description }) => short(description, 60),
  })
  const how =
    '\n\nfound, loaded: tokens that a model reads where it is found, and where it is loaded.'
  return skills.length > 0 ? table + how : table
}

function described(skill: Reply<'GET /api/operator/skills/:skill'>) {
  const { name, kind, hash, tier, description, requires, tokens, files } = skill
  const { source, signer, installedBy, versions = [] } = skill
  const others = versions.filter((one) => one.hash !== hash)
  return lines(
    `${name} (${kind}, ${tier}): ${stateOf(skill)}`,
    `  ${short(description, 1_024)}`,
    `  version ${hash.slice(0, 12)}; ${tokens.found} tokens where it is found, ${tokens.loaded} where it is loaded`,
    requires.length > 0 && `  requires ${requires.join(', ')}`,
    `  files: ${Object.keys(files).join(', ')}`,
    source !== undefined && `  came from ${short(source)}, by ${installedBy}`,
    signer !== undefined && `  signed by ${signer}`,
    others.map(
      (one) =>
        `  other version: ${one.hash.slice(0, 12)} (${one.tier}, ${short(one.source)}, ${time(one.installedAtMs)})`,
    ),
  )
}

export default noun('skill', {
  list: on('GET /api/operator/skills', {
    about:
      'The skills and personas of the server: what each costs in tokens, and what it requires and is not there.',
    says: listing,
  }),
  show: on('GET /api/operator/skills/:skill', {
    usage: '<name>',
    about: 'One of them, with the names of its files.',
    says: described,
  }),
  export: verb({
    usage: '<name> [<folder>]',
    about: 'Writes its files into a new folder, named like the skill if nothing else is said.',
    async run({ args: [skill, folder = skill], ask, print }) {
      const { files } = await ask('GET /api/operator/skills/:skill')
      const written = writeFolder(at(folder), files)
      print({ folder, files: written }, written.map((path) => `${folder}/${path}`).join('\n'))
    },
  }),
  test: verb({
    usage: '<folder…>',
    about: [
      'Tries the phrases of triggers.yaml (finds: […], misses: […]) of every skill in and under these ' +
        'folders: whether each',
      'finds its skill among these and those that ship, or misses it. 1 if one does not, or a skill has no phrases.',
    ].join('\n'),
    async run({ args: folders, print }) {
      const { rateOf, tryTriggers } = await import('./skill-triggers.ts')
      const tried = await tryTriggers(folders.map(at))
      const told = tried.flatMap(({ path, name, problem, phrases }) => [
        ...(problem === undefined ? [] : [`${path}: ${problem}`]),
        ...phrases
          .filter(({ ok }) => !ok)
          .map(({ kind, phrase, found }) => {
            const instead = found.length > 0 ? found.join(', ') : 'nothing'
            return (
              `${name} ${kind === 'finds' ? 'is not found by' : 'must not be found by'}: ${phrase} (finds ` +
              `${instead})`
            )
          }),
      ])
      const [finds, misses] = [rateOf(tried, 'finds'), rateOf(tried, 'misses')]
      const sum =
        `${finds.right} of ${finds.of} phrases find their skill, ${misses.right} of ${misses.of} miss it as ` +
        'they must.'
      print({ skills: tried, finds, misses }, lines(told, sum))
      const isWrong = tried.some(({ problem, phrases }) => problem ?? phrases.some(({ ok }) => !ok))
      return isWrong ? 1 : 0
    },
  }),
  validate: verb({
    usage: '<folder…>',
    about: [
      'Reads every SKILL.md in and under these folders as the AgentSkills specification says, and says what ' +
        '`skill add` would',
      'refuse. An error: it is not loaded; a warning: it is loaded, and not valid; a note: it is valid, and ' +
        'something of it',
      'has no effect. 1 if one is not valid.',
    ].join('\n'),
    async run({ args: folders, print }) {
      const { readSkillFolders } = await import('./skill-folders.ts')
      const { refusalOf } = await import('./skill-sources.ts')
      /** A skill that can be read and would be refused by `add` counts as not loaded. */
      const judged = (file: SkillFile): SkillFile => {
        const message = file.skill && refusalOf(dirname(file.path))
        if (message === undefined) return file
        const { path, diagnostics } = file
        return { path, diagnostics: [...diagnostics, { severity: 'error', message }] }
      }
      const files = folders.flatMap((given) =>
        readSkillFolders([at(given)])
          .map(judged)
          .map(({ path, skill, diagnostics }) => ({
            // As it was asked for.
            path: path.startsWith(at(given))
              ? `${given.replace(/(?<!\/)\/+$/, '')}${path.slice(at(given).length)}`
              : path,
            loaded: skill !== undefined,
            ...(skill && { name: skill.name, description: skill.description }),
            diagnostics,
          })),
      )
      const isWrong = ({ diagnostics }: (typeof files)[number]) =>
        diagnostics.some(({ severity }) => severity !== 'note')
      const wrong = files.filter(isWrong)
      const told = files.flatMap((file) => [
        `${file.path}: ${!file.loaded ? 'is skipped' : isWrong(file) ? 'is loaded, and not valid' : 'is valid'}`,
        ...file.diagnostics.map(
          ({ severity, field, message }) => `  ${severity}: ${field ? `${field} ` : ''}${message}`,
        ),
      ])
      const sum =
        `${files.length} read, ${files.filter(({ loaded }) => loaded).length} loaded, ` +
        `${files.length - wrong.length} valid.`
      print(files, lines(told, '', sum))
      return wrong.length > 0 ? 1 : 0
    },
  }),
  ...adminVerbs,
  ...draftVerbs,
})
