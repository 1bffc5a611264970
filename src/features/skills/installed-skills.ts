import { pinOf, type Generation, type SkillPin } from '#runtime/catalog/types/generation.ts'
import type { InstalledSkills, SkillBundle } from '#runtime/catalog/types/skill-catalog.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { readSkill } from './read-skill.ts'
import { entryFile } from './skill-text.ts'

export interface InstalledSkillsDeps {
  readonly catalog: {
    readonly skills: InstalledSkills['search']
    /** The generation in force, with the extensions of these ids. */
    readonly around: (ids: readonly string[]) => Promise<Generation>
  }
  readonly loadBundle: (hash: string) => Promise<SkillBundle>
}

/** So many texts are kept, since files of one are asked for one after the other. */
const maxKept = 20

/** Installed skills by what is in force now, with the files that were read last. */
export function createInstalledSkills({
  catalog,
  loadBundle,
}: InstalledSkillsDeps): InstalledSkills {
  const kept = new Map<string, SkillSource>()
  const sourceOf = async ({ id, hash, tier }: SkillPin): Promise<SkillSource> => {
    // Two may have the same files, each under a name of its own.
    const key = `${id} ${hash}`
    const source = kept.get(key) ?? toSource(id, await loadBundle(hash))
    kept.delete(key)
    kept.set(key, source)
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
    return { ...source, hash, tier }
  }
  return {
    search: catalog.skills,
    async load(name) {
      const pin = pinOf(await catalog.around([name]), 'skill', name)
      return pin && sourceOf(pin)
    },
  }
}

function toSource(name: string, { fields, files }: SkillBundle): SkillSource {
  const { skill } = readSkill(files[entryFile] ?? '', { folder: name, parseYaml: () => fields })
  if (!skill) throw new Error(`The skill "${name}" cannot be read any more.`)
  const { body: _, metadata: __, frontMatter: ___, ...rest } = skill
  // A file without a name that can be used was installed under that of its folder.
  return { ...rest, name, hash: '', files }
}
