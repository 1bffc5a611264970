import type { ReadLog } from '#contracts/follow-run.ts'
import type { SkillLibrary } from '#contracts/skill.ts'
import type { EmitSkill } from '#contracts/skill-draft.ts'
import { createBundledSkills, type BundledSkillsDeps } from './bundled-skills.ts'
import { doneIn } from './drafts/done-in.ts'
import { createEmitSkill, type EmitSkillDeps } from './drafts/emit-skill.ts'
import { createSkillLibrary, type SkillLibraryDeps } from './skill-library.ts'

/** The skills of this deployment, for the composition. */
export const composeSkills = (
  parts: BundledSkillsDeps & Omit<SkillLibraryDeps, 'sources'>,
): SkillLibrary => createSkillLibrary({ ...parts, sources: createBundledSkills(parts) })

/** What keeps the skills that agents write. */
export const composeEmission = ({
  readLog,
  ...parts
}: Omit<EmitSkillDeps, 'doneIn'> & { readonly readLog: ReadLog }): EmitSkill =>
  createEmitSkill({
    ...parts,
    doneIn: async ({ principal, ...run }) => doneIn(await readLog(principal, run)),
  })
