import { headOf } from '#contracts/cut.ts'
import type { Client } from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import { fieldsOf } from './types.ts'
import type { McpItemKind } from '#runtime/catalog/types/mcp.ts'
import { listingCaps } from './definition-checks.ts'
import type { RawListing } from './listing.ts'
import { rawOf } from './raw-replies.ts'
import { within } from './until-aborted.ts'

/** How long listing may take. Milliseconds. */
interface ListOptions {
  /** The time limit of all lists together. */
  readonly timeoutMs: number
}

/** The most bytes of all lists of a server: little more fits into its store. */
const maxListingBytes = 1_500_000

/** The size of a text in SQLite: two bytes a character as soon as one character needs them. */
export const sizeBytes = (text: string): number =>
  /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length

/** `tool_failed` for a listing that is larger than what is kept. */
export const tooMuchListed = () =>
  new IsolaError(
    'tool_failed',
    `The server lists more than ${maxListingBytes.toLocaleString('en')} bytes: a list of that size is not read.`,
  )

type Entry = RawListing['entries'][number]

const lists = [
  { kind: 'tool', method: 'tools/list', field: 'tools', capability: 'tools' },
  { kind: 'resource', method: 'resources/list', field: 'resources', capability: 'resources' },
  {
    kind: 'template',
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    capability: 'resources',
  },
  { kind: 'prompt', method: 'prompts/list', field: 'prompts', capability: 'prompts' },
] as const

/**
 * Everything a server offers, page by page, at most so many of each: a list that never ends is cut and says so.
 * Throws `tool_failed` if it is too much to keep, and what the library throws once the time is over.
 */
export const listAll = (client: Client, { timeoutMs }: ListOptions): Promise<RawListing> =>
  within(timeoutMs, (signal) => readAll(client, { timeoutMs, signal, bytes: 0 }))

async function readAll(client: Client, reading: Reading): Promise<RawListing> {
  const capabilities = client.getServerCapabilities()
  const entries: Entry[] = []
  const notes: string[] = []
  for (const { kind, method, field, capability } of lists) {
    // A session that goes on from before does not say what it can: then each is asked.
    if (capabilities && !capabilities[capability]) continue
    const found = await pages(client, { kind, method, field }, reading).catch((error: unknown) => {
      const isTooMuch = reading.bytes > maxListingBytes
      if (kind === 'tool' || isTooMuch || reading.signal.aborted) throw error
      notes.push(`Its ${field} cannot be listed.`)
      return { entries: [], isCut: false }
    })
    entries.push(...found.entries)
    if (found.isCut)
      notes.push(`Of its ${field} only the first ${found.entries.length} are looked at.`)
  }
  const { name = '', version = '' } = client.getServerVersion() ?? {}
  const instructions = client.getInstructions()
  return {
    server: { name: headOf(name, 200), version: headOf(version, 100) },
    ...(instructions && { instructions: headOf(instructions, listingCaps.maxInstructionsChars) }),
    entries,
    notes,
  }
}

interface Reading {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** The bytes of all pages so far. */
  bytes: number
}

interface List {
  readonly kind: McpItemKind
  readonly method: (typeof lists)[number]['method']
  readonly field: string
}

const noList = (field: string) =>
  new IsolaError('tool_failed', `The server answers what is no list of ${field}.`)

async function pages(
  client: Client,
  { kind, method, field }: List,
  reading: Reading,
): Promise<{ readonly entries: readonly Entry[]; readonly isCut: boolean }> {
  const { timeoutMs, signal } = reading
  const entries: Entry[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < listingCaps.maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor }
    const result = rawOf(
      await client.request(
        { method, params },
        { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal },
      ),
    )
    const { [field]: given = [], nextCursor } = fieldsOf(result)
    const found = Array.isArray(result) ? result : given
    if (!Array.isArray(found)) throw noList(field)
    for (const value of found as readonly unknown[]) {
      if (entries.length >= listingCaps.maxItems) return { entries, isCut: true }
      reading.bytes += sizeBytes(JSON.stringify(value))
      if (reading.bytes > maxListingBytes) throw tooMuchListed()
      entries.push({ kind, value })
    }
    // Some count their pages.
    const next = typeof nextCursor === 'number' ? String(nextCursor) : nextCursor
    if (typeof next !== 'string' || next === '') return { entries, isCut: false }
    // A cursor that comes back is a circle.
    if (seen.has(next)) return { entries, isCut: true }
    seen.add(next)
    cursor = next
  }
  return { entries, isCut: true }
}
