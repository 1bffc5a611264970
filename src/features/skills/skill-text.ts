import type { SearchedSkill } from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { cutFrontMatter } from '#contracts/front-matter.ts'

/** The file that is a skill; the others are beside it. */
export const entryFile = 'SKILL.md'

/** The text under the front matter of its SKILL.md. */
export function instructionsOf({ files }: Pick<SkillSource, 'files'>): string {
  const cut = cutFrontMatter(files[entryFile] ?? '')
  return typeof cut === 'string' ? '' : cut.body
}

/** What a search knows of one whose files are at hand. */
export const toSearched = (skill: SkillSource): SearchedSkill => ({
  name: skill.name,
  description: skill.description,
  kind: skill.kind,
  requires: skill.requires,
  ...(skill.tier && { tier: skill.tier }),
  text: instructionsOf(skill),
})
