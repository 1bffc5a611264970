import { toLimits, type AgentManifest } from '#runtime/catalog/types/permit.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { returnName } from '#contracts/floor.ts'
import { narrower, type Limits } from '#contracts/lease.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { PromptStore, RenderedPrompt } from '#features/memory/types.ts'
import type { RunOptions } from '#contracts/run-options.ts'

/** The agent section of a manifest, with the files that it names. */
export interface AgentSource {
  readonly manifest: Manifest
  readonly agent: AgentManifest
  /** Text files of the plugin's folder; the instructions are one of them. */
  readonly files: Readonly<Record<string, string>>
}

/** The id under which a plugin's instructions are in the prompt store. */
function instructionsId(plugin: string): string {
  return `${plugin}/instructions`
}

/** A template is a program that runs in this isolate: a template without a review may only fill in named values. */
export function refuseLogic({ agent, files }: AgentSource): void {
  const text = Object.hasOwn(files, agent.instructions) ? (files[agent.instructions] ?? '') : ''
  const isPlain = (expression: string) => /^-?\s*[A-Za-z_][A-Za-z0-9_]*\s*-?$/.test(expression)
  const expressions = text
    .split('{{')
    .slice(1)
    .map((piece) => piece.split('}}', 1)[0]!)
  if (!text.includes('{%') && expressions.every(isPlain)) return
  throw new IsolaError(
    'plugin_prompt_invalid',
    `agent.instructions: ${agent.instructions} may name values only, such as {{ name }}: ` +
      'no statements, filters or other expressions.',
  )
}

/**
 * Puts an agent's instructions into the prompt store and renders them once, so that a mistake in them shows when
 * the plugin loads and not at its first call. Throws `plugin_prompt_invalid`.
 */
export function registerInstructions(
  { manifest, agent, files }: AgentSource,
  prompts: PromptStore,
): void {
  const text = Object.hasOwn(files, agent.instructions) ? files[agent.instructions] : undefined
  if (text === undefined) {
    throw new IsolaError(
      'plugin_prompt_invalid',
      `agent.instructions: there is no file ${agent.instructions}`,
    )
  }
  prompts.put({
    id: instructionsId(manifest.id),
    version: manifest.version,
    text,
    requiredVars: [],
    engine: 'jinja',
    metadata: { plugin: manifest.id },
    createdBy: manifest.id,
  })
  renderInstructions(manifest, agent, prompts)
}

function renderInstructions(
  manifest: Manifest,
  agent: AgentManifest,
  prompts: PromptStore,
): RenderedPrompt {
  return prompts.render(instructionsId(manifest.id), agent.variables, manifest.version)
}

/** The spec of a manifest's agent, before the options of a run. Its instructions must be registered. */
export function toAgentSpec(source: AgentSource, prompts: PromptStore): AgentSpec {
  const { manifest, agent } = source
  return {
    id: manifest.id,
    name: manifest.name,
    description: manifest.description,
    ...toInstructions(renderInstructions(manifest, agent, prompts)),
    model: agent.model,
    parameters: toParameters(agent.parameters),
    limits: toLimits(agent.limits),
    ...defined({
      maxRepeats: agent.limits.max_repeats,
      outputSchema: agent.output_schema,
      context: agent.context,
      memory: agent.memory,
      knowledge: agent.knowledge,
    }),
  }
}

/** A rendered prompt as an agent's instructions, with its template and version. */
export function toInstructions({
  text,
  template,
  version,
}: RenderedPrompt): Pick<AgentSpec, 'instructions' | 'provenance'> {
  return { instructions: text, provenance: { template, version } }
}

/** `parameters` of a manifest, in our spelling. */
export function toParameters(parameters: AgentManifest['parameters']): ModelParameters {
  const {
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    stop,
    seed,
    timeout_ms: timeoutMs,
  } = parameters
  return defined({ temperature, topP, maxOutputTokens, stop, seed, timeoutMs })
}

/** Applies the options of a run: a caller narrows the limits, and its instructions rank below the agent's own. */
export function withOptions(spec: AgentSpec, options: RunOptions, lease?: Limits): AgentSpec {
  const limits = lease ? narrower(spec.limits, lease) : spec.limits
  return {
    ...spec,
    limits,
    model: options.model ?? spec.model,
    parameters: mergeParameters(
      spec.parameters,
      withinOutputOf(spec, options.parameters ?? {}),
      limits,
    ),
    instructions: appendClientInstructions(
      options.holds ? `${spec.instructions.trimEnd()}\n\n${holderText}` : spec.instructions,
      options.clientInstructions,
    ),
  }
}

/** A client's sampling fields replace ours; its output length and timeout only within what the agent has. */
function mergeParameters(
  own: ModelParameters,
  client: ModelParameters,
  limits: Limits,
): ModelParameters {
  const outputCap = own.maxOutputTokens ?? limits.maxTokens
  const timeCap = own.timeoutMs ?? limits.maxTimeMs
  return {
    ...own,
    ...client,
    ...(client.maxOutputTokens !== undefined && {
      maxOutputTokens: Math.min(client.maxOutputTokens, outputCap),
    }),
    ...(client.timeoutMs !== undefined && { timeoutMs: Math.min(client.timeoutMs, timeCap) }),
  }
}

/** Drops the client's response format for an agent with an output schema of its own. */
function withinOutputOf(
  { outputSchema }: AgentSpec,
  { responseFormat, ...rest }: ModelParameters,
): ModelParameters {
  return { ...rest, ...(responseFormat && !outputSchema && { responseFormat }) }
}

const holderText =
  'You have the conversation: what you say goes to the user, and what the user says next ' +
  'comes to you. Whoever handed it to you, for the user the assistant, does not hear it ' +
  `meanwhile. Call ${returnName} with a summary, and say your last words to the user beside ` +
  'that call: as soon as you are done or cannot help; when the user wants something that is ' +
  'not your task; and always, without asking back, when the user asks for the assistant or ' +
  'somebody else, wants to go back, or to stop talking to you, in whatever words. When in ' +
  'doubt, give it back.'

const clientLabel = 'Instructions from the client (they rank below the above):'

function appendClientInstructions(instructions: string, client: string | undefined): string {
  const added = client?.trim()
  return added ? `${instructions.trimEnd()}\n\n${clientLabel}\n${added}` : instructions
}
