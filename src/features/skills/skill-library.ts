import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { labelFrom } from '#contracts/label.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type {
  InstalledSkills,
  SearchedSkill,
  SkillCandidate,
} from '#runtime/catalog/types/skill-catalog.ts'
import {
  labelOfSkill,
  type FoundSkill,
  type IsThere,
  type LoadedSkill,
  type Persona,
  type SkillLibrary,
  type SkillSource,
} from '#runtime/catalog/types/skill.ts'
import { createSkillIndex } from './skill-search.ts'
import { entryFile, instructionsOf, toSearched } from './read-skill.ts'
import { createSkillViews, missingOf, toShort, type SkillViewsDeps } from './skill-views.ts'

/** So many at most: each is a description that the model reads, and of more it would have to choose blindly. */
export const maxFoundSkills = 3
const maxNameChars = 64

export interface SkillLibraryDeps extends SkillViewsDeps {
  readonly buildIndex: BuildSearchIndex
  /** The enabled skills that were installed; absent where the deployment cannot install skills. */
  readonly installed?: InstalledSkills | undefined
}

/** All skills: the shipped skills, and the installed skills that are enabled. */
export function createSkillLibrary(deps: SkillLibraryDeps): SkillLibrary {
  const { sources, installed, buildIndex, count } = deps
  const rank = createSkillIndex(buildIndex)
  let searched: { readonly of: unknown; readonly skills: readonly SearchedSkill[] } | undefined
  const rankShipped = async (queries: readonly string[]): Promise<readonly SkillCandidate[]> => {
    const skills = await sources()
    if (searched?.of !== skills) searched = { of: skills, skills: skills.map(toSearched) }
    return rank(searched.skills, queries)
  }
  /** Ranks all skills; only the shipped skills while the catalog is unavailable. */
  const rankAll = (queries: readonly string[]) =>
    installed ? installed.search(queries).catch(() => rankShipped(queries)) : rankShipped(queries)
  const sourceOf = async (wanted: string): Promise<SkillSource | undefined> =>
    (await sources()).find(({ name }) => name === wanted) ?? (await installed?.load(wanted))

  return {
    ...createSkillViews(deps),
    async find(queries, isThere) {
      // A tool that cannot be looked up now counts as missing.
      const isHere: IsThere = (one) => isThere(one).catch(() => false)
      const ready = await Promise.all(
        // Skills that lack a tool make place for the next ones.
        (await rankAll(queries)).map(async (skill) =>
          (await missingOf(skill, isHere)).length === 0 ? [skill] : [],
        ),
      )
      return ready.flat().slice(0, maxFoundSkills).map(toFound)
    },
    async load(wanted, { file, isThere }) {
      const skill = await sourceOf(wanted)
      if (!skill) return refuse(`There is no skill named "${headOf(wanted, maxNameChars)}" here.`)
      if (skill.kind === 'persona')
        return refuse(
          `${skill.name} is a persona: a voice that is chosen with a session, not loaded.`,
        )
      const missing = await missingOf(skill, isThere)
      if (missing.length > 0)
        return refuse(`${skill.name} needs what is not here: ${missing.join(', ')}.`)
      return toLoaded(skill, file, count)
    },
    async persona(wanted, isThere) {
      const [found, shipped] = await Promise.all([sourceOf(wanted), sources()])
      const persona = found?.kind === 'persona' ? toPersona(found) : undefined
      const missing = found && persona ? await missingOf(found, isThere) : []
      if (missing.length > 0) return { missing, names: [] }
      const enabled = persona ? [] : ((await deps.store?.list('enabled')) ?? [])
      const there = [...shipped, ...enabled.map(({ version }) => version)]
      const names = there.filter(({ kind }) => kind === 'persona').map(({ name }) => name)
      return { ...defined({ persona }), names: [...new Set(names)].toSorted() }
    },
  }
}

const refuse = (message: string): LoadedSkill => ({ ok: false, message })

const toFound = ({ name, description, tier }: SkillCandidate): FoundSkill => ({
  name,
  description: toShort(description),
  ...(tier === 'community' && { label: labelOfSkill({ name, tier }) }),
})

/**
 * Enabling a stranger's says that it may be chosen, not that its author may steer what is done: that is asked about.
 */
const toPersona = (skill: SkillSource): Persona => ({
  name: skill.name,
  hash: skill.hash,
  text: instructionsOf(skill),
  ...(skill.tier === 'community' && {
    label: labelFrom(`isola__persona ${skill.name}`, { confidentiality: 'public' }),
  }),
})

function toLoaded(
  skill: SkillSource,
  file: string | undefined,
  count: SkillViewsDeps['count'],
): LoadedSkill {
  const { name, hash, tier = 'builtin' } = skill
  const others = Object.keys(skill.files).filter((path) => path !== entryFile)
  const own = { ok: true, name, hash, tier } as const
  if (file === undefined) {
    const text = instructionsOf(skill)
    return { ...own, text, tokens: count.ofText(text), files: others }
  }
  const text = others.includes(file) ? skill.files[file] : undefined
  if (text !== undefined) return { ...own, text, tokens: count.ofText(text), files: [] }
  const has = others.length > 0 ? `It has ${others.join(', ')}.` : 'It has no other files.'
  // The names of its files are its author's words, too.
  const label = others.length > 0 && tier === 'community' && { label: labelOfSkill(own) }
  return { ...refuse(`${name} has no file "${headOf(file, 200)}". ${has}`), ...label }
}
