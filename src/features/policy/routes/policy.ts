import type * as z from 'zod'
import { toolDestroys } from '../types.ts'
import { joinLabels, sink, type Label, type LabelSource } from '#contracts/label.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import {
  defaultPinned,
  defaultToolPolicy,
  isMatch,
  patternsIn,
  policyDiff,
  type AskedTool,
  type ToolPolicy,
  type TryPolicy,
} from '#runtime/kernel/types/tool-policy.ts'
import { capped } from '#runtime/kernel/types/network-rule.ts'
import { toVisible } from '#contracts/visible-text.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import type { setPolicyRequest, testPolicyRequest } from './requests.ts'
import { invalidField } from '#platform/routes/json-shape.ts'

export interface PolicyDeps {
  readonly plugins: Pick<PluginAdministration, 'policy' | 'change' | 'show'>
  readonly agents: Pick<AgentDirectory, 'promptUnder' | 'toolNames' | 'list' | 'load' | 'tools'>
  readonly tryPolicy: TryPolicy
}

/**
 * Replaces the whole policy: an omitted field gets its default. A pattern without a matching tool is noted and holds:
 * its tool may be installed later.
 */
export async function setPolicy(
  deps: PolicyDeps,
  context: RequestContext,
  { policy, dryRun }: z.infer<typeof setPolicyRequest>,
) {
  const displaced = await refuseTooLong(deps, policy)
  if (dryRun) {
    const now = await deps.plugins.policy()
    const { lines } = policyDiff(now.policy, policy)
    const more = [...displaced, ...(await unknownNames(deps, policy))]
    return { generation: now.generation, policy, notes: [...lines, ...more] }
  }
  const by = changeBy(context)
  const { generation, notes } = await deps.plugins.change({ do: 'policy', policy }, by)
  const unknown = await unknownNames(deps, policy)
  return { generation, policy, notes: [...notes, ...displaced, ...unknown] }
}

/**
 * Refuses a policy that pins more tools than the prompt has room for: the operator must learn of it now, since a
 * model would silently not see them. The default pins give way first, because the operator did not ask for them by
 * name.
 *
 * @returns Notes about the default pins that gave way.
 */
async function refuseTooLong(
  { agents }: PolicyDeps,
  policy: ToolPolicy,
): Promise<readonly string[]> {
  const { left, most } = await agents.promptUnder(policy)
  const wanted = left.filter((name) => !defaultPinned.includes(name))
  if (wanted.length === 0)
    return left.map(
      (name) => `${name} found no room in the orchestrator's prompt; isola__find finds it.`,
    )
  throw invalidField(
    'policy.pinned',
    `the orchestrator's prompt has ${most} tokens at most, which leaves no room for ` +
      `${wanted.join(', ')}. Pin less: what is not pinned is found with isola__find.`,
  )
}

/** Notes about patterns that match nothing: a misspelt one would not deny or allow the intended tool. */
async function unknownNames(
  { agents }: PolicyDeps,
  policy: ToolPolicy,
): Promise<readonly string[]> {
  const shipped = new Set(patternsIn(defaultToolPolicy))
  const isKnown = (wanted: string) =>
    wanted === '*' || shipped.has(wanted) || wanted.startsWith('isola__')
  const tools = await agents.toolNames(patternsIn(policy).filter((wanted) => !isKnown(wanted)))
  const isThere = (wanted: string) => isKnown(wanted) || tools.some((one) => isMatch(one, wanted))
  const known = new Set(['orchestrator', ...agents.list().map(({ name }) => name)])
  return [
    ...patternsIn(policy)
      .filter((wanted) => !isThere(wanted))
      .map((wanted) => `${wanted} matches no tool that is here now.`),
    ...Object.keys(policy.agents)
      .filter((name) => !known.has(name))
      .map((name) => `There is no agent ${capped(toVisible(name), 80)} now.`),
  ]
}

/** Applies the policy to a call, without making it. */
export async function testPolicy(deps: PolicyDeps, asked: z.infer<typeof testPolicyRequest>) {
  const { label } = asked
  const [{ policy }, { goesTo, ...does }] = await Promise.all([
    deps.plugins.policy(),
    whatItDoes(deps, asked),
  ])
  const told = { ...does, ...asked }
  const decision = deps.tryPolicy(policy, {
    ...told,
    goesTo,
    label: label && joinLabels([{ ...label, sources: [] }, ...label.sources.map(ofSource)]),
  })
  return { ...told, ...decision }
}

const ofSource = (source: LabelSource): Label => ({ ...source, sources: [source] })

/** Traits of the tool as the agent has it; for a tool that the agent lacks, what its manifest says. */
async function whatItDoes(
  deps: PolicyDeps,
  { agent, tool, url }: z.infer<typeof testPolicyRequest>,
): Promise<Pick<AskedTool, 'isDestructive' | 'sinks' | 'goesTo'>> {
  const input = url === undefined ? {} : { url }
  const toolset = (await deps.agents.load(agent, {}))?.toolset
  await toolset?.ready?.([{ toolId: tool, input }])
  const entry = toolset?.resolve(tool, input)?.entry
  const goesTo = entry?.goesTo?.(input) ?? (url === undefined ? undefined : { method: 'GET', url })
  if (!entry) return { isDestructive: await saysItDestroys(deps, tool), goesTo }
  const { isDestructive, sinks = sink.options } = entry
  return { isDestructive: Boolean(isDestructive), sinks, goesTo }
}

async function saysItDestroys(deps: PolicyDeps, name: string): Promise<boolean> {
  const known = (await deps.agents.tools([name])).find((one) => one.name === name)
  if (known) return Boolean(known.isDestructive)
  const [id, tool] = name.split('__')
  const plugin = id === undefined ? undefined : await deps.plugins.show(id)
  const { contributes, grants } = Object(plugin?.manifest)
  const { annotations } = Object(
    [Object(contributes).tools].flat().find((one: unknown) => Object(one).name === tool),
  )
  return toolDestroys(Object(annotations), Object(grants))
}
