import type { AgentSpec } from '#contracts/agent.ts'
import type { AgentManifest } from '#runtime/catalog/types/permit.ts'
import type { MoreTools } from '#runtime/catalog/types/skill.ts'
import type { ToolEntry, Toolset } from '#contracts/tool.ts'
import type { CodeOf } from './tool-reach.ts'

/** Builds the tools of one agent (the catalog room). */
type BuildToolset = (
  entries: readonly ToolEntry[],
  options: {
    /** Adds the core tools; the orchestrator alone has them. */
    readonly core: 'with-core-tools' | 'without-core-tools'
    /** Whether the model sees the tool's definition from the start. */
    readonly isPinned: (entry: ToolEntry) => boolean
    readonly beyond?: MoreTools | undefined
    /** Runs the code that the agent writes in place of calls. */
    readonly code?: ToolEntry | undefined
    /** Results that a stranger can have written stay behind handles; a reader on this model answers about them. */
    readonly narrowReading?: { readonly model: string | undefined } | undefined
    /** The agent may keep drafts of skills. */
    readonly emitsSkills?: boolean | undefined
  },
) => Toolset & { readonly problems: readonly { readonly tool: string; readonly message: string }[] }

export interface ManifestToolsetDeps {
  readonly createToolset: BuildToolset
  readonly codeOf: CodeOf
  /** Agents that never see a text that a stranger can have written; absent: none. */
  readonly readsNarrowly?: ((agent: string) => boolean) | undefined
}

/** The tools of an agent with a manifest or a definition of its own: exactly these, and the model sees all of them. */
export const toManifestToolset = (
  spec: Pick<AgentSpec, 'id' | 'model'>,
  agent: AgentManifest,
  entries: readonly ToolEntry[],
  deps: ManifestToolsetDeps,
): ReturnType<BuildToolset> =>
  deps.createToolset(entries, {
    core: 'without-core-tools',
    isPinned: () => true,
    code: deps.codeOf(spec.id, agent),
    narrowReading: narrowReadingOf(spec, deps),
    emitsSkills: agent.allow_skill_emission,
  })

/** Set for an agent that reads narrowly: the reader uses the agent's own model. */
export const narrowReadingOf = (
  { id, model }: { readonly id: string; readonly model: string | undefined },
  { readsNarrowly }: Pick<ManifestToolsetDeps, 'readsNarrowly'>,
): { readonly model: string | undefined } | undefined =>
  readsNarrowly?.(id) ? { model } : undefined
