import { defined } from '#contracts/defined.ts'
import {
  ResourceNotFoundError,
  type InputRequiredResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server'
import { labelOfAll, type Message } from '#contracts/message.ts'
import type { SessionCursor, SessionListing } from '#contracts/operations.ts'
import type { TranscriptPage } from '#runtime/session/types/session-view.ts'
import { isSessionId } from '#platform/routes/headers.ts'
import { type McpRequest, isAsking } from './mcp-call.ts'
import type { ResourceListing } from '#contracts/manifest/manifest-offers.ts'
import { richOutputSchema } from './types.ts'
import { outputOf } from './call.ts'
import type { Inventory } from './offered.ts'
import { offeredResources } from './offered-resources.ts'
import { isOfSkill, listSkillResources, readSkillFile, skillFileTemplate } from './skills.ts'
import { invalidParams } from './older-clients.ts'

const prefix = 'isola://sessions/'
const pageSessions = 50
/** One read is a page: so many messages, or fewer if they are long. */
const pageMessages = 200
const pageChars = 200_000
const mimeType = 'application/json'

/** The resource template of the caller's own conversations. */
const transcriptTemplate = {
  uriTemplate: `${prefix}{id}`,
  name: 'session',
  description: 'What was said in one of your conversations. Add ?from=<n> to read on.',
  mimeType,
}

/** Whether a URI is a conversation's, of any principal. */
const isTranscript = (uri: string): boolean => uri.startsWith(prefix)

/** The caller's own conversations, newest first. */
async function listTranscripts({ deps, caller }: McpRequest, cursor: string | undefined) {
  const after = cursor === undefined ? undefined : toCursor(cursor)
  const { sessions, next } = await deps.sessionIndex.list({
    principal: caller.principal,
    limit: pageSessions,
    ...defined({ after }),
  })
  return {
    resources: sessions.map(toResource),
    ...(next && { nextCursor: `${next.sinceMs}-${next.id}` }),
  }
}

const toResource = ({ id, agent, runs, usedAtMs }: SessionListing) => ({
  uri: `${prefix}${id}`,
  name: id,
  description: `A conversation with ${agent ?? 'no agent yet'}, ${runs} runs.`,
  mimeType,
  annotations: { lastModified: new Date(usedAtMs).toISOString() },
})

function toCursor(text: string): SessionCursor {
  const [, sinceMs, id] = /^(\d{1,15})-(ses_[0-9A-Za-z]{22})$/.exec(text) ?? []
  if (sinceMs !== undefined && id !== undefined) return { sinceMs: Number(sinceMs), id }
  throw invalidParams('cursor: must be the one of a page.')
}

/** A page of a conversation. Another principal's conversation looks like a missing one. */
async function readTranscript({ deps, caller }: McpRequest, uri: string) {
  const [, id = '', given = '0'] =
    /^([^?]*)(?:\?from=(\d{1,9}))?$/.exec(uri.slice(prefix.length)) ?? []
  if (!isSessionId(id)) throw new ResourceNotFoundError(uri)
  const from = Number(given)
  const { said, hasMore } = await saidFrom(from, async (after) => {
    const query = after === undefined ? {} : { after }
    const reply = await deps.sessions.at(id).transcript(caller.principal, query)
    if (reply.ok) return reply.value
    if (reply.error.code === 'request_not_found') throw new ResourceNotFoundError(uri)
    throw Object.assign(new Error(reply.error.message), { code: reply.error.code })
  })
  const messages = page(said.map(toSaid))
  await deps.toldClients.tell(caller.asker, labelOfAll(said.slice(0, messages.length)))
  const end = from + messages.length
  const next = hasMore || messages.length < said.length ? `${prefix}${id}?from=${end}` : undefined
  const text = JSON.stringify({ session: id, from, messages, ...(next && { next }) })
  return { contents: [{ uri, mimeType, text }] }
}

/** The messages from the n-th on, as far as one page of the session has them. */
async function saidFrom(
  from: number,
  read: (after: string | undefined) => Promise<TranscriptPage>,
): Promise<{ readonly said: readonly Message[]; readonly hasMore: boolean }> {
  let before = 0
  for (let after: string | undefined; ;) {
    const { messages, next } = await read(after)
    const said = messages.slice(Math.max(0, from - before))
    if (said.length > 0 || next === undefined) return { said, hasMore: next !== undefined }
    before += messages.length
    after = next
  }
}

function page<T>(all: readonly T[]): readonly T[] {
  let chars = 0
  const isOver = (one: T, index: number) =>
    index >= pageMessages || ((chars += JSON.stringify(one).length) > pageChars && index > 0)
  const end = all.findIndex(isOver)
  return end < 0 ? all : all.slice(0, end)
}

/** Where a value came from is for the record. */
function toSaid(message: Message) {
  if (message.role === 'system') return message
  const { taint: _taint, ...said } = message
  return said
}

/** A page: first what plugins and servers have, then skills and the caller's own conversations. */
export async function listResources(call: McpRequest, cursor: string | undefined) {
  const own = await listTranscripts(call, cursor)
  const { listed } = offeredResources(call.caller.inventory)
  const exact = listed.filter(({ isTemplate }) => !isTemplate)
  const first = cursor ? [] : [...exact.map(toWire), ...(await listSkillResources(call))]
  return { ...own, resources: [...first, ...own.resources] }
}

/** `resources/templates/list`: templates of plugins and servers, of skills, and of the caller's own conversations. */
export function listTemplates({ inventory }: McpRequest['caller']) {
  const templates = offeredResources(inventory).listed.filter(({ isTemplate }) => isTemplate)
  const wire = templates
    .map(toWire)
    .map(({ uri: uriTemplate, ...more }) => ({ uriTemplate, ...more }))
  const ofSkills = inventory.skills.length > 0 ? [skillFileTemplate] : []
  return { resourceTemplates: [...wire, ...ofSkills, transcriptTemplate] }
}

/** Resources that do not exist, are not offered, have several owners or belong to another principal look alike. */
export async function readResource(
  call: McpRequest,
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
