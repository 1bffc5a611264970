import { defined } from '#contracts/defined.ts'
import type { SearchedSkill } from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { cutFrontMatter } from '#features/plugins/types/front-matter.ts'

/** The file that is a skill; the others are beside it. */
export const entryFile = 'SKILL.md'

/** The text under the front matter of its SKILL.md. */
export function instructionsOf({ files }: Pick<SkillSource, 'files'>): string {
  const cut = cutFrontMatter(files[entryFile] ?? '')
  return typeof cut === 'string' ? '' : cut.body
}

/** The searchable fields of a skill whose files are at hand. */
export const toSearched = (skill: SkillSource): SearchedSkill => ({
  name: skill.name,
  description: skill.description,
  kind: skill.kind,
  requires: skill.requires,
  ...defined({ tier: skill.tier }),
  text: instructionsOf(skill),
})

/** sha-256 of bytes, as Agent Skills Discovery and SEP-2640 write it: `sha256:` and lowercase hex. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `sha256:${Array.from(hash, (one) => one.toString(16).padStart(2, '0')).join('')}`
}
