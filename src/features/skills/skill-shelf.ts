import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type {
  OutgoingFile,
  OutgoingSkill,
  SkillArtifact,
  SkillLibrary,
  SkillShelf,
} from '#runtime/catalog/types/skill.ts'
import { digestOf, entryFile } from './read-skill.ts'

/** A file as it stands in an archive. */
interface ZipFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** Text is text in UTF-8 (bit 11), of the first day that the format knows: the same files are the same bytes. */
const flags = 0x0800
const date = 0x0021

/** A zip of files as they are, uncompressed: no library, and no runtime whose compression may change. */
export function storedZip(files: readonly ZipFile[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  const crc = createCrc32()
  let offset = 0
  for (const { path, bytes } of files) {
    const name = new TextEncoder().encode(path)
    // From the version that is needed to the lengths of name and extra field: the same in both headers.
    const about = [u16(20), u16(flags), u16(0), u16(0), u16(date), u32(crc(bytes))]
    about.push(u32(bytes.length), u32(bytes.length), u16(name.length), u16(0))
    const local = joined([u32(0x04034b50), ...about, name])
    directory.push(u32(0x02014b50), u16(20), ...about)
    // No comment, first disk, no attributes.
    directory.push(u16(0), u16(0), u16(0), u32(0), u32(offset), name)
    parts.push(local, bytes)
    offset += local.length + bytes.length
  }
  const central = joined(directory)
  const count = u16(files.length)
  const end = [u32(0x06054b50), u16(0), u16(0), count, count, u32(central.length), u32(offset)]
  return joined([...parts, central, ...end, u16(0)])
}

const u16 = (value: number): Uint8Array => Uint8Array.of(value, value >>> 8)
const u32 = (value: number): Uint8Array =>
  Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24)

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The checksum that the format wants, by its table. */
function createCrc32(): (bytes: Uint8Array) => number {
  const table = Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0)
    return value
  })
  return (bytes) => {
    let value = 0xffff_ffff
    for (const byte of bytes) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] ?? 0)
    return ~value >>> 0
  }
}

/** The limits that every client has to support; no larger skill goes out: SEP-2640, "Limits". */
const maxFiles = 512
const maxSizeBytes = 16 * 1_024 * 1_024
/** Clients of Agent Skills Discovery drop an entry with a longer one. */
const maxDescriptionChars = 1_024

/** Skills in force here; a client may have the tools that a `gated` skill requires. */
const states: readonly string[] = ['ready', 'gated']

/** The skills that the deployment hands out to clients. */
export function createSkillShelf({ show }: Pick<SkillLibrary, 'show'>): SkillShelf {
  const find = async (name: string): Promise<OutgoingSkill | string> => {
    const skill = await show(name, async () => true)
    if (!skill) return `There is no skill ${name} now.`
    if (skill.kind === 'persona') return `${name} is a persona, which is not offered to others.`
    if (!states.includes(skill.state)) return `${name} is not enabled.`
    const { frontMatter, tier } = skill
    // A client compares the description with the file: both must be the same.
    const description = frontMatter?.['description']
    if (frontMatter?.['name'] !== name || typeof description !== 'string')
      return `${name} is not offered: others could not read the top of its SKILL.md.`
    if (description.length > maxDescriptionChars)
      return `${name} is not offered: its description is longer than ${maxDescriptionChars} characters.`
    return toOutgoing({ name, tier, description, frontMatter, texts: skill.files })
  }
  return {
    async outgoing(names) {
      const found = await Promise.all([...new Set(names)].toSorted().map(find))
      return {
        skills: found.filter((one) => typeof one !== 'string'),
        problems: found.filter((one) => typeof one === 'string'),
      }
    },
    artifact: toArtifact,
  }
}

async function toOutgoing(skill: {
  readonly name: string
  readonly tier: TrustTier
  readonly description: string
  readonly frontMatter: JsonObject
  readonly texts: Readonly<Record<string, string>>
}): Promise<OutgoingSkill | string> {
  const { texts, ...about } = skill
  const others = Object.keys(texts).filter((path) => path !== entryFile)
  const paths = [entryFile, ...others.toSorted()]
  const files = await Promise.all(paths.map((path) => toFile(path, texts[path] ?? '')))
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  if (files.length > maxFiles || sizeBytes > maxSizeBytes)
    return `${skill.name} is not offered: it has more than ${maxFiles} files, or more than 16 MiB.`
  return { ...about, files }
}

/** In memory of its own, which no type says. */
const encode = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
const mimeTypes: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  json: 'application/json',
  csv: 'text/csv',
}

async function toFile(path: string, text: string): Promise<OutgoingFile> {
  const bytes = encode(text)
  const mimeType = mimeTypes[/\.(\w+)$/.exec(path)?.[1] ?? ''] ?? 'text/plain'
  return { path, text, mimeType, sizeBytes: bytes.length, digest: await digestOf(bytes) }
}

async function toArtifact({ name, files }: OutgoingSkill): Promise<SkillArtifact> {
  const [entry, other] = files
  if (!entry) throw new Error(`${name} has no files.`)
  if (!other) {
    const { mimeType, text, digest } = entry
    const path = `${name}/${entryFile}`
    return { type: 'skill-md', path, mimeType, bytes: encode(text), digest }
  }
  const bytes = storedZip(files.map((one) => ({ ...one, bytes: encode(one.text) })))
  const digest = await digestOf(bytes)
  return { type: 'archive', path: `${name}.zip`, mimeType: 'application/zip', bytes, digest }
}
