// Phrases that must find a skill, and phrases that must not: `triggers.yaml` in its folder, as `isola skill test` runs
// it.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SkillSource, SkillText } from '../src/runtime/catalog/types/skill.ts'
import { createSearchIndex } from '../src/runtime/catalog/search/search-index.ts'
import { readYaml } from '../src/features/plugins/admission/read-yaml.ts'
import { createSkillLibrary } from '../src/features/skills/skill-library.ts'
import { isClone, root } from '../scripts/toolchain.mjs'
import { readSkillFolders, type SkillFile } from './skill-folders.ts'

const kinds = ['finds', 'misses'] as const
const maxPhrases = 200

/** A phrase, whether it found its skill, and what it found. */
export interface TriedPhrase {
  readonly kind: (typeof kinds)[number]
  readonly phrase: string
  readonly ok: boolean
  readonly found: readonly string[]
}

/** A skill with its phrases; a `problem` says why there is none to try. */
interface TriedSkill {
  readonly path: string
  readonly name?: string
  readonly problem?: string
  readonly phrases: readonly TriedPhrase[]
}

/**
 * Tries the phrases of every skill in and under these folders, against all of them and those that ship: a given skill
 * replaces the shipped one of its name. The requirements of a skill count as met.
 */
export async function tryTriggers(folders: readonly string[]): Promise<readonly TriedSkill[]> {
  const given = readSkillFolders(folders)
  const all = new Map(
    [...(isClone ? readSkillFolders([join(root, 'skills')]) : []), ...given].flatMap(({ skill }) =>
      skill ? [[skill.name, toSource(skill)]] : [],
    ),
  )
  const sources = [...all.values()]
  const { find } = createSkillLibrary({
    sources: async () => sources,
    buildIndex: createSearchIndex,
    count: { ofText: () => 0 },
  })
  const tryPhrase = async (name: string, kind: TriedPhrase['kind'], phrase: string) => {
    const found = (await find([phrase], async () => true)).map((one) => one.name)
    return { kind, phrase, ok: found.includes(name) === (kind === 'finds'), found }
  }
  return await Promise.all(
    given
      .filter(({ skill }) => skill?.kind !== 'persona')
      .map(async (file): Promise<TriedSkill> => {
        const { path, skill } = file
        const triggers = readTriggers(file)
        if (!skill || typeof triggers === 'string')
          return { path, problem: String(triggers), phrases: [] }
        const { name } = skill
        const tries = kinds.flatMap((kind) =>
          triggers[kind].map((phrase) => tryPhrase(name, kind, phrase)),
        )
        return { path, name, phrases: await Promise.all(tries) }
      }),
  )
}

/** The skill as a deployment has it, without its other files: a search does not read them. */
const toSource = ({ body, ...skill }: SkillText): SkillSource => ({
  ...skill,
  hash: '',
  files: { 'SKILL.md': `---\n---\n${body}` },
})

/** A text says what is wrong with it. */
function readTriggers({ path, skill, diagnostics }: SkillFile) {
  if (!skill) return diagnostics[0]?.message ?? 'cannot be read'
  const file = join(dirname(path), 'triggers.yaml')
  if (!existsSync(file)) return 'has no triggers.yaml beside it: finds: […], misses: […]'
  let value: unknown
  try {
    value = readYaml(readFileSync(file, 'utf8'), 'triggers.yaml')
  } catch (error) {
    return error instanceof Error ? error.message : 'triggers.yaml cannot be read'
  }
  const given = Object(value) as Readonly<Record<string, unknown>>
  const other = Object.keys(given).find((key) => !kinds.some((kind) => kind === key))
  if (other !== undefined) return `triggers.yaml: ${other} is no key; it has finds and misses`
  const wrong = kinds.find((kind) => !isPhrases(given[kind]))
  if (wrong) return `triggers.yaml: ${wrong} must be a list of 1 to ${maxPhrases} phrases`
  return {
    finds: given['finds'] as readonly string[],
    misses: given['misses'] as readonly string[],
  }
}

const isPhrases = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= maxPhrases &&
  value.every((one) => typeof one === 'string' && one.trim() !== '')

/** How many of how many phrases do what they must. */
export function rateOf(tried: readonly TriedSkill[], kind: TriedPhrase['kind']) {
  const phrases = tried.flatMap((one) => one.phrases).filter((one) => one.kind === kind)
  return { right: phrases.filter(({ ok }) => ok).length, of: phrases.length }
}
