import type { SkillSource } from '#contracts/skill.ts'
import { createSearchIndex } from '../../src/catalog/search/search-index.ts'
import { createSkillLibrary } from '../../src/skills/skill-library.ts'

/** A skill as a deployment has it. */
export function skillSource(name: string, description: string, more: Partial<SkillSource> = {}) {
  const text = `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\nThe way of ${name}.\n`
  const own = { name, description, kind: 'skill', requires: [], hash: `hash of ${name}` } as const
  return { ...own, ...more, files: { 'SKILL.md': text, ...more.files } }
}

/** A library of these, in which a token is a character. */
export const libraryOf = (skills: readonly SkillSource[]) =>
  createSkillLibrary({
    sources: async () => skills,
    buildIndex: createSearchIndex,
    count: { ofText: (text) => text.length },
  })
