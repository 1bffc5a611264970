import { defined } from '#contracts/defined.ts'
import {
  ResourceNotFoundError,
  type InputRequiredResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server'
import type { ResourceListing } from '#contracts/manifest/offer.ts'
import { richOutputSchema } from './types.ts'
import { outputOf } from './call.ts'
import { isAsking, type McpCall } from './mcp-call.ts'
import type { Inventory } from './offered.ts'
import { offeredResources } from './offered-resources.ts'
import { isOfSkill, listSkillResources, readSkillFile, skillFileTemplate } from './skills.ts'
import { isTranscript, listTranscripts, readTranscript, transcriptTemplate } from './transcripts.ts'

/** A page: first what plugins and servers have, then skills and the caller's own conversations. */
export async function listResources(call: McpCall, cursor: string | undefined) {
  const own = await listTranscripts(call, cursor)
  const { listed } = offeredResources(call.caller.inventory)
  const exact = listed.filter(({ isTemplate }) => !isTemplate)
  const first = cursor ? [] : [...exact.map(toWire), ...(await listSkillResources(call))]
  return { ...own, resources: [...first, ...own.resources] }
}

/** `resources/templates/list`: templates of plugins and servers, of skills, and of the caller's own conversations. */
export function listTemplates({ inventory }: McpCall['caller']) {
  const templates = offeredResources(inventory).listed.filter(({ isTemplate }) => isTemplate)
  const wire = templates
    .map(toWire)
    .map(({ uri: uriTemplate, ...more }) => ({ uriTemplate, ...more }))
  const ofSkills = inventory.skills.length > 0 ? [skillFileTemplate] : []
  return { resourceTemplates: [...wire, ...ofSkills, transcriptTemplate] }
}

/** Resources that do not exist, are not offered, have several owners or belong to another principal look alike. */
export async function readResource(
  call: McpCall,
  uri: string,
): Promise<ReadResourceResult | InputRequiredResult> {
  if (isTranscript(uri)) return readTranscript(call, uri)
  const file = await readSkillFile(call, uri)
  if (file) return file
  const owner = offeredResources(call.caller.inventory).ownerOf(uri)
  if (owner === undefined) throw new ResourceNotFoundError(uri)
  const answer = await outputOf(call, `${owner}__read_resource`, { uri })
  if (isAsking(answer)) return answer
  const rich = richOutputSchema.safeParse(answer.output)
  const blocks = rich.success ? rich.data.content : []
  const contents = blocks.flatMap((block) => (block.type === 'resource' ? [block.resource] : []))
  return { contents } as ReadResourceResult // the same words, by their schema
}

/** Whether there may be a resource under this URI; a conversation is looked up only when it is read. */
export const isReadable = (inventory: Inventory, uri: string): boolean =>
  isTranscript(uri) ||
  isOfSkill(inventory, uri) ||
  offeredResources(inventory).ownerOf(uri) !== undefined

function toWire({ uri, name, title, description, mimeType }: ResourceListing) {
  return {
    uri,
    name,
    ...defined({ title, description, mimeType }),
  }
}
