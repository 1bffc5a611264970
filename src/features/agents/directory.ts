import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { Offers } from '#contracts/manifest/manifest-offers.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import { type MoreTools, ownerOf } from '#runtime/catalog/types/skill.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import type { Generations } from './generations.ts'
import type { WiredAgents } from './wire-agents.ts'

type StoredLookups = 'runnable' | 'isSeen' | 'listRunnable'

export interface DirectoryDeps
  extends Pick<AgentDirectory, 'load'>, Required<Pick<AgentDirectory, StoredLookups>> {
  readonly generations: Pick<Generations<WiredAgents>, 'last'>
  /** Tools of parts outside the generation, by patterns of their names. May throw. */
  readonly tools: (wanted: readonly string[]) => Promise<readonly ListedTool[]>
  /** Their names alone. May throw. */
  readonly toolNames: (wanted: readonly string[]) => Promise<readonly string[]>
  /** The parts that every run has, and the parts of these ids with their needs. May throw. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  readonly build: (snapshot: PluginSnapshot, beyond?: MoreTools) => Pick<WiredAgents, 'prompt'>
}

/** The agents, tools and offers of the generation in force; of other parts by their names. */
export function createDirectory(deps: DirectoryDeps): AgentDirectory {
  const { load, runnable, isSeen, listRunnable } = deps
  const { last } = deps.generations
  /** The names and patterns that the generation does not know. */
  const elsewhere = (wanted: readonly string[]): readonly string[] => {
    const { wired } = last()
    const isHere = (name: string) => wired.ownerOf(ownerOf(name)) !== undefined
    return wanted.filter((name) => (name.includes('__') ? !isHere(name) : name.endsWith('*')))
  }
  const toolsHere = () => last().wired.directory.tools()
  return {
    load,
    runnable,
    isSeen,
    listRunnable,
    list: () => last().wired.directory.list(),
    async tools(wanted) {
      const here = toolsHere()
      const asked = elsewhere(wanted)
      const more = asked.length > 0 ? await deps.tools(asked) : []
      const names = new Set(here.map(({ name }) => name))
      return [
        ...here.filter(({ name }) => isMatchOfAny(name, wanted)),
        ...more.filter(({ name }) => !names.has(name)),
      ]
    },
    async toolNames(wanted) {
      const asked = elsewhere(wanted)
      // A check whether a name exists goes on with the names that are here.
      const more = asked.length > 0 ? await deps.toolNames(asked).catch(() => []) : []
      const names = new Set([...toolsHere().map(({ name }) => name), ...more])
      return [...names].filter((name) => isMatchOfAny(name, wanted))
    },
    async offers(owners) {
      const { wired, named } = last()
      const missing = owners.filter((id) => !wired.ownerOf(id))
      const here = wired.directory.offers()
      const more: Offers =
        missing.length > 0 ? await named.offersOf(missing) : { resources: [], prompts: [] }
      const isAsked = ({ owner }: { readonly owner: string }) => owners.includes(owner)
      return {
        resources: [...here.resources.filter(isAsked), ...more.resources],
        prompts: [...here.prompts.filter(isAsked), ...more.prompts],
      }
    },
    async promptUnder(policy) {
      const around = await deps.around([...new Set(policy.pinned.map(ownerOf))])
      const pins = { ...around.pins, policy: [{ id: 'policy' as const, policy }] }
      return deps.build({ ...around, pins }, last().named).prompt
    },
  }
}
