import type { ReadLog } from '#contracts/follow-run.ts'
import type { BundleStore } from '#contracts/plugin-store.ts'
import type { SkillAdmission, SkillBundle, SkillStore } from '#contracts/skill-catalog.ts'
import { compareSkills } from './admission/compare.ts'
import { createUploadReader, type UploadReaderDeps } from './admission/read-uploads.ts'
import { createBundledSkills, type BundledSkillsDeps } from './bundled-skills.ts'
import { doneIn } from './drafts/done-in.ts'
import { createEmitSkill, type EmitSkillDeps } from './drafts/emit-skill.ts'
import { createInstalledSkills, type InstalledSkillsDeps } from './installed-skills.ts'
import { createSkillLibrary, type SkillLibraryDeps } from './skill-library.ts'
import { createSkillSearch } from './skill-search.ts'

export interface SkillParts
  extends
    BundledSkillsDeps,
    Pick<SkillLibraryDeps, 'buildIndex' | 'count'>,
    Omit<InstalledSkillsDeps, 'loadBundle'>,
    Omit<UploadReaderDeps, 'count' | 'sha256'>,
    Omit<EmitSkillDeps, 'store' | 'doneIn' | 'shipped' | keyof UploadReaderDeps> {
  readonly store: SkillStore
  /** What agents wrote. */
  readonly drafts: EmitSkillDeps['store']
  readonly readLog: ReadLog
  readonly bundles: Pick<BundleStore, 'load'>
}

/** The skills of this deployment, for the composition. */
export function composeSkills(parts: SkillParts) {
  const { store, bundles, buildIndex, drafts, readLog } = parts
  const sources = createBundledSkills(parts)
  // Checked when it came, and kept under its hash.
  const loadBundle = async (hash: string) => JSON.parse(await bundles.load(hash)) as SkillBundle
  const installed = createInstalledSkills({ ...parts, loadBundle })
  const changes: SkillAdmission['changes'] = async (name, to) => {
    const row = await store.find(name)
    if (!row?.version || row.state === 'removed') return undefined
    const has = { version: row.version, files: (await loadBundle(row.hash)).files }
    if ('bundle' in to) return compareSkills(has, { version: to.version, files: to.bundle.files })
    const version = (await store.versions(name)).find(({ hash }) => hash === to.hash)
    return version && compareSkills(has, { version, files: (await loadBundle(to.hash)).files })
  }
  const bundledNames = async () => (await sources()).map(({ name }) => name)
  return {
    library: createSkillLibrary({ ...parts, sources, installed, loadBundle }),
    /** What the Catalog searches. */
    search: createSkillSearch({ bundled: sources, store, buildIndex }),
    bundledNames,
    admission: { read: createUploadReader(parts), changes } satisfies SkillAdmission,
    emitSkill: createEmitSkill({
      ...parts,
      store: drafts,
      shipped: bundledNames,
      doneIn: async ({ principal, ...run }) => doneIn(await readLog(principal, run)),
    }),
  }
}
