import type { SkillLibrary, SkillShelf } from '#contracts/skill.ts'
import { createBundledSkills, type BundledSkillsDeps } from './bundled-skills.ts'
import { createSkillLibrary, type SkillLibraryDeps } from './skill-library.ts'
import { createSkillShelf } from './skill-shelf.ts'

/** The skills of this deployment, and what is handed out of them, for the composition. */
export function composeSkills(
  parts: BundledSkillsDeps & Omit<SkillLibraryDeps, 'sources'>,
): SkillLibrary & SkillShelf {
  const library = createSkillLibrary({ ...parts, sources: createBundledSkills(parts) })
  return { ...library, ...createSkillShelf(library) }
}
