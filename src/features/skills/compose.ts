import type { ReadLog } from '#runtime/session/types/session-entry.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import type {
  SkillAdmission,
  SkillBundle,
  SkillStore,
} from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillDraftStore } from './store/skill-drafts.ts'
import { compareSkills } from './admission/read-bundle.ts'
import { createUploadReader, type UploadReaderDeps } from './admission/read-uploads.ts'
import {
  createBundledSkills,
  type BundledSkillsDeps,
  createInstalledSkills,
  type InstalledSkillsDeps,
} from './installed-skills.ts'
import { createEmitSkill, doneIn, type EmitSkillDeps } from './drafts/emit-skill.ts'
import { createSkillLibrary, type SkillLibraryDeps } from './skill-library.ts'
import { createSkillSearch } from './skill-search.ts'
import { createSkillShelf } from './skill-shelf.ts'

interface SkillParts
  extends
    BundledSkillsDeps,
    Pick<SkillLibraryDeps, 'buildIndex' | 'count'>,
    Pick<UploadReaderDeps, 'verify' | 'checkPaths' | 'fetchArchive' | 'readArchive'>,
    Pick<EmitSkillDeps, 'clock' | 'redact'> {
  /** The enabled skills, by the Catalog. */
  readonly installed: InstalledSkillsDeps['catalog']
  readonly skills: SkillStore
  readonly skillDrafts: SkillDraftStore
  readonly readLog: ReadLog
  readonly bundles: Pick<BundleStore, 'load'>
}

/** The skills of this deployment, for the composition. */
export function composeSkills(parts: SkillParts) {
  const { skills: store, skillDrafts, bundles, buildIndex, readLog } = parts
  const sources = createBundledSkills(parts)
  // Checked when it came, and kept under its hash.
  const loadBundle = async (hash: string) => JSON.parse(await bundles.load(hash)) as SkillBundle
  const installed = createInstalledSkills({ catalog: parts.installed, loadBundle })
  const changes: SkillAdmission['changes'] = async (name, to) => {
    const row = await store.find(name)
    if (!row?.version || row.state === 'removed') return undefined
    const has = { version: row.version, bundle: await loadBundle(row.hash) }
    if ('bundle' in to) return compareSkills(has, to)
    const version = (await store.versions(name)).find(({ hash }) => hash === to.hash)
    return version && compareSkills(has, { version, bundle: await loadBundle(to.hash) })
  }
  const bundledNames = async () => (await sources()).map(({ name }) => name)
  const library = createSkillLibrary({ ...parts, sources, installed, store, loadBundle })
  const admission: SkillAdmission = { read: createUploadReader(parts), changes }
  return {
    persona: library.persona,
    surfaces: {
      skills: { ...library, ...createSkillShelf(library) },
      skillAdmission: admission,
      skillDrafts,
    },
    /** The Catalog's search over skills. */
    search: createSkillSearch({ bundled: sources, store, buildIndex }),
    bundledNames,
    /** The agents' access to skills. */
    ofAgents: {
      skills: library,
      emitSkill: createEmitSkill({
        ...parts,
        store: skillDrafts,
        shipped: bundledNames,
        doneIn: async ({ principal, ...run }) => doneIn(await readLog(principal, run)),
      }),
    },
  }
}
