import { IsolaError } from '#contracts/errors.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'
import { pinOf, type Generation, type SkillPin } from '#runtime/catalog/types/generation.ts'
import type { InstalledSkills, SkillBundle } from '#runtime/catalog/types/skill-catalog.ts'
import { readSkill, entryFile } from './read-skill.ts'

export interface BundledSkillsDeps {
  /** Reads a file of the deployment's own by its path; absent where there are none. */
  readonly readAsset: ((path: string) => Promise<Response>) | undefined
  /** Where they are, and the sha-256 of that text; another text is not read. */
  readonly asset: { readonly path: string; readonly sha256: string }
  readonly sha256: (text: string) => string
}

/**
 * The skills that ship, read once, when they are first needed. They are an asset, so that the Worker is as small
 * without
 * them, and pinned by their hash, so that they are those it was built with. Rejects with `request_unavailable`.
 */
export function createBundledSkills({ readAsset, asset, sha256 }: BundledSkillsDeps) {
  let loaded: Promise<readonly SkillSource[]> | undefined
  const load = async (): Promise<readonly SkillSource[]> => {
    if (!readAsset) return []
    const response = await readAsset(asset.path)
    const text = response.ok ? await response.text() : ''
    if (sha256(text) !== asset.sha256)
      throw new IsolaError('request_unavailable', 'The skills cannot be read now.', {
        detail: `asset ${asset.path}: ${response.ok ? 'another text than was built' : response.status}`,
      })
    // Ours, to the byte: nothing is left to check.
    const { skills } = JSON.parse(text) as { readonly skills: readonly SkillSource[] }
    return skills
  }
  return (): Promise<readonly SkillSource[]> =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    }))
}

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
