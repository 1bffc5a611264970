import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { Offers, PromptListing, ResourceListing } from '#contracts/manifest/offer.ts'
import type { ListedTool } from '#runtime/session/types/runtime.ts'
import type { ToolEntry } from '#contracts/tool.ts'

/** The resources and prompts of these plugins, by their manifests alone (P14). */
export function offersOf(
  manifests: readonly Pick<Manifest, 'id' | 'contributes'>[],
  /** Of owners that are no plugins. */
  others: readonly Offers[] = [],
): Offers {
  return {
    resources: [
      ...manifests.flatMap(({ id, contributes }) =>
        contributes.resources.map((resource) => toResource(id, resource)),
      ),
      ...others.flatMap(({ resources }) => resources),
    ],
    prompts: [
      ...manifests.flatMap(({ id, contributes }) =>
        contributes.prompts.map((prompt) => toPrompt(id, prompt)),
      ),
      ...others.flatMap(({ prompts }) => prompts),
    ],
  }
}

function toResource(
  owner: string,
  resource: Manifest['contributes']['resources'][number],
): ResourceListing {
  const { uri, uriTemplate, name, title, description, mimeType } = resource
  return {
    owner,
    uri: uri ?? uriTemplate ?? '',
    isTemplate: uri === undefined,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
  }
}

function toPrompt(
  owner: string,
  prompt: Manifest['contributes']['prompts'][number],
): PromptListing {
  const { name, title, description } = prompt
  return {
    owner,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    arguments: prompt.arguments.map((argument) => ({
      name: argument.name,
      ...(argument.description !== undefined && { description: argument.description }),
      ...(argument.required !== undefined && { required: argument.required }),
      ...(argument.suggestions !== undefined && { suggestions: argument.suggestions }),
    })),
  }
}

/** A tool as lists have it. */
export function toListed({ tool, isReadOnly, isIdempotent, isDestructive }: ToolEntry): ListedTool {
  const { name, description, inputSchema } = tool
  const hints = { isReadOnly, isIdempotent, isDestructive: isDestructive ?? false }
  return { name, description, inputSchema, ...hints }
}
