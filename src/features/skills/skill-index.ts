import type { BuildSearchIndex, SearchIndex } from '#contracts/search.ts'
import type { SearchedSkill } from '#runtime/catalog/types/skill-catalog.ts'

/**
 * A skill has to fit at least as well as a skill whose name has the query's rarest word: a long text that shares only
 * a word or two with a query does not fit. In multiples of the weight of a word that no other skill has.
 */
const leastFit = 1.4

/**
 * Ranks skills in an index of their own: their texts are long, and no tool is ranked against them. It is built anew when
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
