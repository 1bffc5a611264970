import type { SkillLibrary } from '#contracts/skill.ts'
import { createBundledSkills, type BundledSkillsDeps } from './bundled-skills.ts'
import { createSkillLibrary, type SkillLibraryDeps } from './skill-library.ts'

/** The skills of this deployment, for the composition. */
export const composeSkills = (
  parts: BundledSkillsDeps & Omit<SkillLibraryDeps, 'sources'>,
): SkillLibrary => createSkillLibrary({ ...parts, sources: createBundledSkills(parts) })
