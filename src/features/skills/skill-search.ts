import type { BuildSearchIndex, SearchIndex } from '#contracts/search.ts'
import type {
  SearchedSkill,
  SearchSkills,
  SkillStore,
} from '#runtime/catalog/types/skill-catalog.ts'
import { pinOf } from '#runtime/catalog/types/generation.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { toSearched } from './read-skill.ts'

/**
 * A skill has to fit at least as well as a skill whose name has the query's rarest word: a long text that shares only
 * a word or two with a query does not fit. In multiples of the weight of a word that no other skill has.
 */
const leastFit = 1.4

/**
 * Ranks skills in an index of their own: their texts are long, and no tool is ranked against them. It is built anew
 * when
 * it is asked about another list.
 *
 * @returns The skills that fit, best first; never a persona.
 */
export function createSkillIndex(buildIndex: BuildSearchIndex) {
  let built:
    | { readonly of: unknown; readonly index: SearchIndex; readonly least: number }
    | undefined
  return <Skill extends SearchedSkill>(
    skills: readonly Skill[],
    queries: readonly string[],
  ): readonly Skill[] => {
    if (built?.of !== skills) {
      const documents = skills.filter(({ kind }) => kind === 'skill').map(toDocument)
      built = { of: skills, index: buildIndex(documents), least: leastScore(documents.length) }
    }
    const { index, least } = built
    return index
      .search(queries, skills.length)
      .filter(({ fit }) => fit >= least)
      .flatMap(({ id }) => skills.find(({ name }) => name === id) ?? [])
  }
}

/** The BM25 weight of a word that one of `count` documents has, times `leastFit`. */
const leastScore = (count: number): number => leastFit * Math.log(1 + (count - 0.5) / 1.5)

const toDocument = ({ name, description, text }: SearchedSkill) => ({
  id: name,
  name,
  owner: '',
  description,
  parameters: '',
  body: text,
})

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
