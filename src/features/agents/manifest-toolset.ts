import type { AgentSpec } from '#contracts/agent.ts'
import type { AgentManifest } from '#contracts/manifest/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { BuildToolset } from './build-toolset.ts'
import type { CodeOf } from './code-mode.ts'

interface ManifestToolsetDeps {
  readonly createToolset: BuildToolset
  readonly codeOf: CodeOf
  readonly readsNarrowly?: ((agent: string) => boolean) | undefined
}

/** The tools of an agent that a manifest or a text of its own describes: exactly these, all of them in its definitions. */
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

/** For whom what a stranger can have written stays behind handles: the reader is on its own model. */
export const narrowReadingOf = (
  { id, model }: { readonly id: string; readonly model: string | undefined },
  { readsNarrowly }: Pick<ManifestToolsetDeps, 'readsNarrowly'>,
): { readonly model: string | undefined } | undefined =>
  readsNarrowly?.(id) ? { model } : undefined
