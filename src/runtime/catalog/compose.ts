import {
  type Generation,
  type PluginSnapshot,
  type PluginSource,
  partsOf,
  type StoredPart,
} from './types/generation.ts'
import type { PartKinds, PartsInForce } from './types/part-kind.ts'
import type { PluginQuota, BundleStore, PluginStore } from './types/plugin-catalog.ts'
import type { DeniedTools } from '#runtime/kernel/types/policy.ts'
import type { SkillStore, EmitSkill } from './types/skill-catalog.ts'
import type { AgentSkills } from './types/skill.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { TrustStore } from './types/plugin-upload.ts'
import {
  createCatalogGateway,
  emptySnapshot,
  type CatalogGatewayOptions,
} from './catalog-gateway.ts'
import { entryOf, toStoredPart } from './stored-parts.ts'
import {
  createPluginLifecycle,
  type LifecycleDeps,
  type PluginLifecycle,
} from './lifecycle/lifecycle.ts'
import { createPluginViews, type IsolatePrice } from './lifecycle/view.ts'
import { createEmitSkillTool, createPresence } from './skill-tool.ts'
import {
  type OutputSpaces,
  createOutputStore,
  createOutputTool,
  readOutputName,
} from './output-tool.ts'
import { withResultsAside, createUnseenWords } from './keep-aside.ts'
import { createNarrowReader, readValuesName } from './narrow-reader.ts'
import { withOutsideTools } from './outside-tools.ts'
import { toSnapshot, withNeeds } from './part-needs.ts'
import { createInputValidator, createSchemaValidator } from './schema-validator.ts'
import { createSearchIndex } from './search/search-index.ts'
import { queryTerms, termsOf } from './search/words.ts'
import { createToolset, type ToolsetOptions } from './toolset.ts'
import type { Clock } from '#contracts/sources.ts'

/** Where unreferenced bundles are, and how long they stay. */
interface CollectorDeps {
  readonly store: Pick<PluginStore, 'unnamed'>
  readonly bundles: Pick<BundleStore, 'remove'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly keepVersionsMs: number
  /** The most bundles of one step: a change waits for the step. */
  readonly maxBundles?: number
}

/**
 * Removes a batch of bundles that no generation of this period named, no plugin or server has now, and that were not
 * stored lately. No unfinished run needs such a bundle: the row of a run has the parts that the run began with
 * (docs/decisions/0047).
 *
 * @returns How many were removed; 0 if there are no more.
 */
const createCollector =
  ({ store, bundles, clock, keepVersionsMs, maxBundles = 25 }: CollectorDeps) =>
  async (): Promise<number> => {
    const beforeMs = clock.nowMs() - keepVersionsMs
    const hashes = await store.unnamed(beforeMs, maxBundles)
    if (hashes.length > 0) await bundles.remove(hashes, beforeMs)
    return hashes.length
  }

interface CatalogParts extends Omit<CatalogGatewayOptions, 'loadBody'> {
  readonly sessions: OutputSpaces
  readonly bundles: BundleStore
  readonly config: IsolatePrice & {
    readonly pluginQuota: PluginQuota
    readonly keepVersionsMs: number
  }
  readonly store: PluginStore
  readonly skills: SkillStore
  readonly trust: Pick<TrustStore, 'list'>
}

interface AgentToolsetOptions extends Omit<
  ToolsetOptions,
  'buildIndex' | 'more' | 'shown' | 'skills' | 'deniedOf'
> {
  /** Results that a stranger can have written stay behind a handle, and a reader without tools answers about them. */
  readonly narrowReading?: { readonly model: string | undefined } | undefined
  /** The agent may store drafts of skills. */
  readonly emitsSkills?: boolean | undefined
}

const readTools = { narrow: readValuesName, whole: readOutputName }

/** The installed extensions, and the parts of an agent's toolset, for the composition. */
export function composeCatalog({ bundles, store, skills, trust, config, ...parts }: CatalogParts) {
  const more = [createOutputTool(parts.sessions)]
  const outputs = createOutputStore(parts.sessions)
  const validator = createSchemaValidator()
  const unseenWords = createUnseenWords(parts.sessions)
  const loadBody = async (hash: string) =>
    toSource(JSON.parse(await bundles.load(hash)) as PluginSource)
  // For the object and the try-out, which read each body once for a current view.
  const sourceOf = (hash: string) => loadBody(hash).catch(() => undefined)
  return {
    installed: createCatalogGateway({ ...parts, loadBody }),
    initial: emptySnapshot,
    validator,
    outputs,
    /** The parts for the gates of a call. */
    ofGates: { validator: createInputValidator(validator), outputs },
    unseenWords,
    buildIndex: createSearchIndex,
    words: { termsOf, queryTerms, buildIndex: createSearchIndex },
    /** The parts for the Catalog object. */
    objectParts: {
      ...createPluginViews(store, config),
      newestNumber: store.newestNumber,
      collect: createCollector({ ...config, store, bundles, clock: parts.clock }),
      clock: parts.clock,
      sourceOf,
      near: parts.near,
      buildIndex: createSearchIndex,
    },
    /** Makes the lifecycle that decides changes of the enabled set. */
    lifecycle: (
      rest: Pick<LifecycleDeps, 'bundledIds' | 'servers' | 'tryOut'> & {
        readonly skills: { readonly bundledNames: LifecycleDeps['bundledSkills'] }
      },
    ) => {
      const lifecycle: PluginLifecycle = createPluginLifecycle({
        ...rest,
        store,
        skills,
        bundledSkills: rest.skills.bundledNames,
        bundles,
        quota: config.pluginQuota,
        clock: parts.clock,
        signers: async () => (await trust.list()).map(({ name }) => name),
        around: (next, ids, inForce) =>
          aroundIn(next, ids, { kinds: lifecycle.kinds, sourceOf, inForce }),
      })
      return lifecycle
    },
    /**
     * Makes an agent's toolset: with the skills that it may find and the store for its drafts, and without tools that
     * it may not call.
     */
    toolsets: ({
      emitSkill,
      ...found
    }: {
      readonly skills: AgentSkills
      readonly deniedOf: DeniedTools
      readonly emitSkill: EmitSkill
    }) => {
      const emits = [createEmitSkillTool(emitSkill)]
      return (
        entries: readonly ToolEntry[],
        { narrowReading, emitsSkills, ...options }: AgentToolsetOptions,
      ) => {
        const all = { ...options, buildIndex: createSearchIndex, more, ...found }
        const own = emitsSkills ? emits : []
        if (!narrowReading) return createToolset(entries, { ...all, shown: own })
        const shown = [createNarrowReader(parts.sessions, narrowReading.model), ...own]
        const toolset = createToolset(entries, { ...all, shown })
        return { ...toolset, ...withResultsAside(toolset, outputs, unseenWords, readTools) }
      }
    },
    withOutside: withOutsideTools,
    presence: createPresence,
  }
}

/** The parts of these ids in a generation that is not in force yet, with what every run has. */
async function aroundIn(
  next: Generation,
  ids: readonly string[],
  {
    kinds,
    sourceOf,
    inForce,
  }: {
    readonly kinds: PartKinds
    readonly sourceOf: (hash: string) => Promise<PluginSource | undefined>
    readonly inForce: PartsInForce | undefined
  },
): Promise<PluginSnapshot> {
  const all = partsOf(next).map((part) => toStoredPart(part, kinds))
  /** The parts in force, without parts that these replace. */
  const others = (parts: readonly StoredPart[] = []) =>
    parts.filter(({ kind, id }) => !all.some((one) => one.kind === kind && one.id === id))
  const isAlways = ({ kind, pin }: StoredPart) => entryOf(kinds, kind).wire(pin) === 'always'
  const parts = [...all.filter(isAlways), ...others(inForce?.always())]
  const find = async (wanted: readonly string[]) => [
    ...all.filter(({ id }) => wanted.includes(id)),
    ...others(inForce?.named(wanted)),
  ]
  return toSnapshot(next.number, await withNeeds({ parts, ids }, { find, sourceOf }))
}

/** Only what wiring needs: code is loaded where it runs. */
function toSource({ manifest, files }: PluginSource): PluginSource {
  const { agent } = Object(manifest) as { readonly agent?: { readonly instructions?: unknown } }
  const needed = Object.entries(files).filter(([path]) => path === agent?.instructions)
  return { manifest, files: Object.fromEntries(needed) }
}
