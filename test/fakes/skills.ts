import { IsolaError } from '#contracts/errors.ts'
import type { SkillLibrary, SkillShelf, SkillSource } from '#contracts/skill.ts'
import { createSearchIndex } from '../../src/catalog/search/search-index.ts'
import { createSkillLibrary } from '../../src/skills/skill-library.ts'
import { createSkillShelf } from '../../src/skills/skill-shelf.ts'

/** A skill as a deployment has it. */
export function skillSource(
  name: string,
  description: string,
  more: Partial<SkillSource> = {},
): SkillSource {
  const text = `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\nThe way of ${name}.\n`
  const frontMatter = { name, description }
  const hash = `hash of ${name}`
  const own = { name, description, kind: 'skill', requires: [], hash, frontMatter } as const
  return { ...own, ...more, files: { 'SKILL.md': text, ...more.files } }
}

/** A library of these, in which a token is a character. */
export const libraryOf = (skills: readonly SkillSource[]) =>
  createSkillLibrary({
    sources: async () => skills,
    buildIndex: createSearchIndex,
    count: { ofText: (text) => text.length },
  })

/** The same, with what is handed out of them. */
export function shelfOf(skills: readonly SkillSource[]): SkillLibrary & SkillShelf {
  const library = libraryOf(skills)
  return { ...library, ...createSkillShelf(library) }
}

/** Of a shelf whose skills cannot be read now. */
export const rejecting: Pick<SkillShelf, 'outgoing'> = {
  outgoing: async () => {
    throw new IsolaError('request_unavailable', 'Not now.')
  },
}
