import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import {
  isSkillName,
  skillCaps,
  type RefusedSkill,
  type SentSkill,
} from '#runtime/catalog/types/skill-catalog.ts'
import { toVisible } from '#contracts/visible-text.ts'
import { digestOf } from '../read-skill.ts'
import { nameOf, refusedSkill } from './read-bundle.ts'

/** The dependencies of fetching. */
export interface FetchSkillsDeps {
  /** Throws `request_invalid` for an address that is refused, `plugin_source_unavailable`, `plugin_upload_invalid`. */
  readonly fetchArchive: (
    url: string,
    hop?: {
      /** The text that named the address, if no caller did: it may lead to no host that it could not redirect to. */
      readonly from?: URL
      /** Told who answered, after redirects. */
      readonly onAnswer?: (answer: { readonly url: URL }) => void
    },
  ) => Promise<Uint8Array>
  /** All skills of an archive or a SKILL.md, or those of these names; in an isolate. */
  readonly readArchive: (
    bytes: Uint8Array,
    only: readonly string[],
  ) => Promise<readonly SentSkill[]>
}

/** The skills at an address. */
interface Fetched {
  readonly sent: readonly SentSkill[]
  readonly refused: readonly RefusedSkill[]
  /** The address, or that of the index. */
  readonly source: string
}

const schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
const wellKnown = '.well-known/agent-skills/index.json'
/** A request may ask so many hosts: of a longer index those that are wanted are named. */
const maxEntries = 40

/** An entry of an index: the fields that are read. */
interface Entry {
  readonly name: string
  readonly url: string
  readonly digest: string
}

/**
 * Fetches skills from an address that a caller named: an archive, a SKILL.md, an index by Agent Skills Discovery
 * 0.2.0, or a site that has one under `/.well-known/`. An entry of an index whose bytes do not match its digest is
 * refused.
 */
export function createFetchSkills({ fetchArchive, readArchive }: FetchSkillsDeps) {
  /** @param at The address of the index: after redirects, another address than the caller's. */
  const fromIndex = async (
    index: Index,
    { url, at }: { readonly url: string; readonly at: URL },
    only: readonly string[],
  ): Promise<Fetched> => {
    const named =
      only.length === 0 ? index.entries : index.entries.filter(({ name }) => only.includes(name))
    const there = index.entries.map(({ name }) => name)
    if (named.length === 0)
      throw refusedSkill(
        `The index has ${
          only.length === 0
            ? 'no skill that can be read'
            : 'none of these; it has ' + `${there.join(', ').slice(0, 2_000)}`
        }.`,
      )
    if (named.length > maxEntries)
      throw refusedSkill(
        `The index has ${named.length} skills; ${maxEntries} at most come at once. Name those that you want.`,
      )
    const sent: SentSkill[] = []
    const refused: RefusedSkill[] = [...(only.length === 0 ? index.refused : [])]
    let chars = 0
    for (const entry of named) {
      try {
        const one = await fetchEntry(entry, at)
        chars += Object.values(one.bundle?.files ?? {}).reduce((sum, text) => sum + text.length, 0)
        if (chars > skillCaps.maxCollectionChars)
          throw refusedSkill(
            'The skills before it have as many characters as may come at once. Name it.',
          )
        sent.push(one)
      } catch (error) {
        const code = errorCode(error)
        if (code === undefined || code === 'plugin_isolate_unavailable') throw error
        refused.push({ name: entry.name, code, message: errorMessage(error) })
      }
    }
    if (sent.length === 0 && refused[0])
      throw new IsolaError(refused[0].code as 'plugin_upload_invalid', refused[0].message)
    return { sent, refused, source: url }
  }

  const fetchEntry = async ({ name, url, digest }: Entry, from: URL): Promise<SentSkill> => {
    const bytes = await fetchArchive(new URL(url, from).href, { from })
    const found = await digestOf(bytes.slice())
    if (found !== digest)
      throw refusedSkill(
        `${name}: what came is not what the index pins (digest ${digest}, and it has ${found}).`,
      )
    const [one, ...others] = await readArchive(bytes, [])
    if (!one || others.length > 0)
      throw refusedSkill(`${name}: is ${others.length + 1} skills, and the index says one.`)
    // The folder that it is packed in may have any name.
    const own = { ...one, folder: name }
    if (one.problem === undefined && nameOf(own) !== name)
      throw refusedSkill(`${name}: calls itself ${nameOf(own)}, and the index says otherwise.`)
    return own
  }

  return async (url: string, only: readonly string[]): Promise<Fetched> => {
    let at: URL | undefined
    const onAnswer = (answer: { readonly url: URL }) => void (at = answer.url)
    const bytes = await fetchArchive(url, { onAnswer }).catch((error: unknown) => {
      if (errorCode(error) === 'plugin_source_unavailable' && isSite(url)) return undefined
      throw error
    })
    const index = bytes && readIndex(bytes)
    if (index) return fromIndex(index, { url, at: at ?? new URL(url) }, only)
    if (bytes && isSkills(bytes))
      return { sent: await readArchive(bytes, only), refused: [], source: url }
    if (!isSite(url))
      throw refusedSkill(
        'There is no skill at this address: neither a .zip nor a .tar.gz, no SKILL.md, no index of skills.',
      )
    const indexUrl = `${url.replace(/[?#].*$/, '').replace(/\/$/, '')}/${wellKnown}`
    at = undefined
    const found = readIndex(await fetchArchive(indexUrl, { onAnswer }))
    if (!found)
      throw refusedSkill(`What is at ${indexUrl} is no index by Agent Skills Discovery 0.2.0.`)
    return fromIndex(found, { url: indexUrl, at: at ?? new URL(indexUrl) }, only)
  }
}

/** An address of a site, not of a file: its skills are named under `/.well-known/`. */
const isSite = (url: string): boolean =>
  URL.canParse(url) && !/\.\w{1,8}$/.test(new URL(url).pathname)

/** A zip, a gzip, or the front matter of a SKILL.md. */
const isSkills = ([a, b, c]: Uint8Array): boolean =>
  (a === 0x50 && b === 0x4b) ||
  (a === 0x1f && b === 0x8b) ||
  (a === 0x2d && b === 0x2d && c === 0x2d) ||
  (a === 0xef && b === 0xbb)

interface Index {
  readonly entries: readonly Entry[]
  readonly refused: readonly RefusedSkill[]
}

/** `undefined` if it is no index. A faulty entry does not spoil the others. */
function readIndex(bytes: Uint8Array): Index | undefined {
  const value = parseJson(bytes)
  const { $schema, skills } = Object(value) as {
    readonly $schema?: unknown
    readonly skills?: unknown
  }
  if ($schema !== schema || !Array.isArray(skills)) return undefined
  const read = (skills as readonly unknown[]).map(readEntry)
  return {
    entries: read.flatMap((one) => ('digest' in one ? [one] : [])),
    refused: read.flatMap((one) => ('digest' in one ? [] : [one])),
  }
}

function readEntry(value: unknown): Entry | RefusedSkill {
  const { name, type, url, digest } = Object(value) as Readonly<Record<string, unknown>>
  const problem =
    typeof name !== 'string' || !isSkillName(name)
      ? 'name'
      : type !== 'skill-md' && type !== 'archive'
        ? 'type'
        : typeof url !== 'string' || !URL.canParse(url, 'https://example.com')
          ? 'url'
          : typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)
            ? 'digest'
            : undefined
  if (problem === undefined) return { name, url, digest } as Entry
  const shown = typeof name === 'string' ? toVisible(name.slice(0, 64)) : ''
  return {
    name: shown,
    code: 'plugin_upload_invalid',
    message: `${problem}: of this entry of the index is missing, or not as Agent Skills Discovery 0.2.0 has it.`,
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes))
  } catch {
    return undefined
  }
}
