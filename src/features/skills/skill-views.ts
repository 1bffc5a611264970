import { defined } from '#contracts/defined.ts'
import { shortened } from '#contracts/cut.ts'
import { cutFrontMatter } from '#features/plugins/types/front-matter.ts'
import { needsQuotes } from './types.ts'
import type { SkillBundle, SkillStore, SkillVersion } from '#runtime/catalog/types/skill-catalog.ts'
import type { IsThere, SkillLibrary, SkillSource, SkillView } from '#runtime/catalog/types/skill.ts'
import { entryFile, instructionsOf } from './read-skill.ts'

const maxDescriptionChars = 400

export interface SkillViewsDeps {
  /** All that ship. May reject. */
  readonly sources: () => Promise<readonly SkillSource[]>
  /** The installed skills in every state; absent where the deployment cannot install skills. */
  readonly store?: Pick<SkillStore, 'list' | 'find' | 'versions'> | undefined
  /** The files of a version. Rejects if they are not kept. */
  readonly loadBundle?: (hash: string) => Promise<SkillBundle>
  readonly count: { readonly ofText: (text: string) => number }
}

/** The operator's views of skills. */
export function createSkillViews({
  sources,
  store,
  loadBundle,
  count,
}: SkillViewsDeps): Pick<SkillLibrary, 'list' | 'show'> {
  const ofShipped = (skill: SkillSource, isThere: IsThere) => {
    const { files: _, allowedTools: __, frontMatter: ___, ...rest } = skill
    const tokens = count.ofText(instructionsOf(skill))
    return toView({ ...rest, tier: 'builtin' }, { isThere, count, tokens })
  }
  const ofInstalled = async (
    version: SkillVersion,
    state: 'installed' | 'enabled' | 'disabled',
    isThere: IsThere,
  ): Promise<SkillView> => {
    const { text: _, paths: __, tokens, sizeBytes: ___, ...rest } = version
    const view = await toView(rest, { isThere, count, tokens })
    return state === 'enabled' ? view : { ...view, state }
  }
  return {
    async list(isThere) {
      const [shipped, installed = []] = await Promise.all([sources(), store?.list()])
      const views = await Promise.all([
        ...shipped.map((skill) => ofShipped(skill, isThere)),
        ...installed.map(({ version, state }) =>
          ofInstalled(version, state === 'removed' ? 'disabled' : state, isThere),
        ),
      ])
      return views.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    async show(wanted, isThere) {
      const skill = (await sources()).find(({ name }) => name === wanted)
      if (skill) {
        const { files, frontMatter } = skill
        const view = await ofShipped(skill, isThere)
        return { ...view, files, ...defined({ frontMatter }) }
      }
      const row = await store?.find(wanted)
      if (!row?.version || row.state === 'removed' || !store || !loadBundle) return undefined
      const [{ fields, files }, versions] = await Promise.all([
        loadBundle(row.hash),
        store.versions(wanted),
      ])
      return {
        ...(await ofInstalled(row.version, row.state, isThere)),
        files,
        ...(isWritten(files) && { frontMatter: fields }),
        versions: versions.map(toListed),
      }
    },
  }
}

/** Others have to read the same at the top of the file as was read of it here. */
function isWritten(files: SkillBundle['files']): boolean {
  const cut = cutFrontMatter(files[entryFile] ?? '')
  return typeof cut !== 'string' && !needsQuotes(cut.yaml)
}

const toListed = ({ hash, tier, source, installedBy, installedAtMs }: SkillVersion) => {
  return { hash, tier, source, installedBy, installedAtMs }
}

/** The tools and plugins that a skill requires and that are missing. */
export async function missingOf(
  { requires }: Pick<SkillSource, 'requires'>,
  isThere: IsThere,
): Promise<readonly string[]> {
  const there = await Promise.all(requires.map(isThere))
  return requires.filter((_, at) => !there[at])
}

/** The short form of a description in search results. */
export const toShort = (text: string): string => shortened(text, maxDescriptionChars)

async function toView(
  skill: Omit<SkillView, 'state' | 'missing' | 'tokens'>,
  {
    isThere,
    count,
    tokens: loaded,
  }: {
    readonly isThere: IsThere
    readonly count: SkillViewsDeps['count']
    readonly tokens: number
  },
): Promise<SkillView> {
  const missing = await missingOf(skill, isThere)
  const { name, kind, description } = skill
  const shown = JSON.stringify({ name, description: toShort(description) })
  const tokens = { found: kind === 'skill' ? count.ofText(shown) : 0, loaded }
  return { ...skill, state: missing.length > 0 ? 'gated' : 'ready', missing, tokens }
}
