import { IsolaError } from '#contracts/errors.ts'
import type { SkillSource } from '#runtime/catalog/types/skill.ts'

export interface BundledSkillsDeps {
  /** Reads a file of the deployment's own by its path; absent where there are none. */
  readonly readAsset: ((path: string) => Promise<Response>) | undefined
  /** Where they are, and the sha-256 of that text; another text is not read. */
  readonly asset: { readonly path: string; readonly sha256: string }
  readonly sha256: (text: string) => string
}

/**
 * The skills that ship, read once, when they are first needed. They are an asset, so that the Worker is as small without
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
