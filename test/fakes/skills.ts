import { IsolaError } from '#contracts/errors.ts'
import type { SkillLibrary, SkillShelf, SkillSource } from '#runtime/catalog/types/skill.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'
import { createSkillLibrary } from '../../src/features/skills/skill-library.ts'
import { createSkillShelf } from '../../src/features/skills/skill-shelf.ts'

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

/** A skill as it is sent to be installed. */
export function skillBundle(
  name: string,
  description: string,
  body: string,
  more: {
    readonly metadata?: Readonly<Record<string, string>>
    readonly files?: Readonly<Record<string, string>>
  } = {},
) {
  const { metadata, files } = more
  const fields = { name, description, ...(metadata && { metadata }) }
  const text = `---\n${Object.entries(fields)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join('\n')}\n---\n\n${body}\n`
  return { fields, files: { 'SKILL.md': text, ...files } }
}
