import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type {
  OutgoingFile,
  OutgoingSkill,
  SkillArtifact,
  SkillLibrary,
  SkillShelf,
} from '#runtime/catalog/types/skill.ts'
import { digestOf, entryFile } from './skill-text.ts'
import { storedZip } from './stored-zip.ts'

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
