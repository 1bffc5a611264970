import {
  ResourceNotFoundError,
  type InputRequiredResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server'
import type { ResourceListing } from '#contracts/offer.ts'
import { richOutputSchema } from '#contracts/content.ts'
import { matchUriTemplate, parseUriTemplate } from '#contracts/uri-template.ts'
import { outputOf } from './call.ts'
import { isAsking, type McpCall } from './converse.ts'
import type { Inventory } from './offered.ts'
import {
  isOurs,
  isTranscript,
  listTranscripts,
  readTranscript,
  transcriptTemplate,
} from './transcripts.ts'

/** Resources of the owners that an operator named. */
function offeredResources({ exposed, offers }: Inventory): readonly ResourceListing[] {
  const listed = offers.resources.filter(({ owner }) => exposed.resources.includes(owner))
  return listed.filter(({ uri }) => !isOurs(uri))
}

/** A page: first what plugins and servers have, then the caller's own conversations. */
export async function listResources(call: McpCall, cursor: string | undefined) {
  const own = await listTranscripts(call, cursor)
  const listed = offeredResources(call.caller.inventory).filter(({ isTemplate }) => !isTemplate)
  return { ...own, resources: [...(cursor ? [] : listed.map(toWire)), ...own.resources] }
}

export function listTemplates({ inventory }: McpCall['caller']) {
  const listed = offeredResources(inventory).filter(({ isTemplate }) => isTemplate)
  const wire = listed.map(toWire).map(({ uri: uriTemplate, ...more }) => ({ uriTemplate, ...more }))
  return { resourceTemplates: [...wire, transcriptTemplate] }
}

/** What is absent, what is not offered and what is another's look alike. */
export async function readResource(
  call: McpCall,
  uri: string,
): Promise<ReadResourceResult | InputRequiredResult> {
  if (isTranscript(uri)) return readTranscript(call, uri)
  const listing = findListing(call.caller.inventory, uri)
  if (!listing) throw new ResourceNotFoundError(uri)
  const answer = await outputOf(call, `${listing.owner}__read_resource`, { uri })
  if (isAsking(answer)) return answer
  const rich = richOutputSchema.safeParse(answer.output)
  const blocks = rich.success ? rich.data.content : []
  const contents = blocks.flatMap((block) => (block.type === 'resource' ? [block.resource] : []))
  return { contents } as ReadResourceResult // the same words, by their schema
}

/** Whether there may be something under this name; what is in a conversation is seen when it is read. */
export const isReadable = (inventory: Inventory, uri: string): boolean =>
  isTranscript(uri) || findListing(inventory, uri) !== undefined

/** What is named exactly comes before what a template of anybody takes; names of ours are nobody else's. */
function findListing(inventory: Inventory, uri: string): ResourceListing | undefined {
  if (isOurs(uri)) return undefined
  const offered = offeredResources(inventory)
  const exact = offered.find((one) => !one.isTemplate && one.uri === uri)
  return exact ?? offered.find((one) => one.isTemplate && isMatch(one, uri))
}

function isMatch({ uri: own }: ResourceListing, uri: string): boolean {
  const template = parseUriTemplate(own)
  return typeof template !== 'string' && matchUriTemplate(template, uri) !== undefined
}

function toWire({ uri, name, title, description, mimeType }: ResourceListing) {
  return {
    uri,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
  }
}
