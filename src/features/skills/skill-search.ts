import { pinOf } from '#runtime/catalog/types/generation.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type {
  SearchSkills,
  SearchedSkill,
  SkillStore,
} from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { createSkillIndex } from './skill-index.ts'
import { toSearched } from './skill-text.ts'

/** The skills to search, and their ranking. */
interface SkillSearchDeps {
  readonly bundled: () => Promise<readonly SkillSource[]>
  readonly store: Pick<SkillStore, 'list'>
  readonly buildIndex: BuildSearchIndex
}

/** The most candidates: the caller drops the skills that lack a tool, and takes the best of the rest. */
const maxCandidates = 30

/** The search of the Catalog over all skills, one index for all sessions. Rejects if they cannot be read. */
export function createSkillSearch({ bundled, store, buildIndex }: SkillSearchDeps): SearchSkills {
  const rank = createSkillIndex(buildIndex)
  let known:
    | { readonly revision: object; readonly skills: Promise<readonly SearchedSkill[]> }
    | undefined
  const load = async (): Promise<readonly SearchedSkill[]> => {
    const [own, enabled] = await Promise.all([bundled(), store.list('enabled')])
    // A shipped skill hides an installed skill of its name, which was there before it shipped.
    const others = enabled.filter(({ name }) => !own.some((one) => one.name === name))
    return [...own.map(toSearched), ...others.map(({ version }) => version)]
  }
  return async (queries, inForce) => {
    const revision = inForce.revision()
    if (known?.revision !== revision) {
      const mine = { revision, skills: load() }
      known = mine
      mine.skills.catch(() => {
        if (known === mine) known = undefined
      })
    }
    const found = rank(await known.skills, queries).slice(0, maxCandidates)
    return found.flatMap(({ name, description, requires, tier }) => {
      const own = { name, description, requires }
      if (tier === undefined) return own
      // The tier at installation may be out of date: an operator may have removed the key since.
      const pin = pinOf(inForce.around(name), 'skill', name)
      return pin ? { ...own, tier: pin.tier } : []
    })
  }
}
