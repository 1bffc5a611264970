import type {
  SkillDiagnostic,
  SkillSource,
  ReadSkill,
  SkillKind,
  SkillText,
} from '#runtime/catalog/types/skill.ts'
import { defined } from '#contracts/defined.ts'
import type { SearchedSkill } from '#runtime/catalog/types/skill-catalog.ts'
import {
  cutFrontMatter,
  readFrontMatter,
  type ParseYaml,
} from '#features/plugins/types/front-matter.ts'
import type { JsonObject } from '#contracts/json.ts'

/** Keys that the specification knows; others belong under `metadata`. */
const knownFields = [
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
] as const
const maxNameChars = 64
const maxDescriptionChars = 1_024
const maxCompatibilityChars = 500

type Fields = Readonly<Record<string, unknown>>

const warningOf = (field: string, message: string): SkillDiagnostic => ({
  severity: 'warning',
  field,
  message,
})

/** A scalar as text; nothing for what is empty, a list or a mapping. */
export function textOf(value: unknown): string | undefined {
  const isScalar = ['string', 'number', 'boolean'].includes(typeof value)
  const text = isScalar ? String(value).trim() : ''
  return text === '' ? undefined : text
}

/**
 * The specification's objections to these fields. An empty description is not among them: it alone keeps a skill from
 * being loaded.
 *
 * @param folder Name of the folder that the file is in.
 * @see https://agentskills.io/specification
 */
function checkFields(fields: Fields, folder: string): readonly SkillDiagnostic[] {
  return [
    ...checkName(fields['name'], folder),
    ...checkDescription(fields['description']),
    ...checkCompatibility(fields),
    ...checkMetadata(fields['metadata']),
    ...checkText(fields, 'license'),
    ...checkText(fields, 'allowed-tools'),
    ...checkKeys(fields),
  ]
}

function checkName(value: unknown, folder: string): readonly SkillDiagnostic[] {
  const given = textOf(value)
  if (given === undefined)
    return [warningOf('name', `is missing: the folder's name, ${folder}, stands for it`)]
  const name = given.normalize('NFKC')
  return [
    name.length > maxNameChars &&
      `has ${name.length} characters; ${maxNameChars} are the most that it may have`,
    name !== name.toLowerCase() && `must be lowercase: ${name.toLowerCase()}`,
    !/^[\p{L}\p{M}\p{N}-]+$/u.test(name) && 'may have letters, digits and hyphens only',
    /^-|-$/.test(name) && 'must not begin or end with a hyphen',
    name.includes('--') && 'must not have two hyphens in a row',
    name !== folder.normalize('NFKC') &&
      `must be the name of its folder: ${name} is in a folder named ${folder}`,
  ].flatMap((message) => (message === false ? [] : [warningOf('name', message)]))
}

function checkDescription(value: unknown): readonly SkillDiagnostic[] {
  const chars = typeof value === 'string' ? value.length : 0
  if (chars <= maxDescriptionChars) return []
  return [
    warningOf(
      'description',
      `has ${chars} characters; ${maxDescriptionChars} are the most that it may have`,
    ),
  ]
}

function checkCompatibility(fields: Fields): readonly SkillDiagnostic[] {
  if (!Object.hasOwn(fields, 'compatibility')) return []
  const value = fields['compatibility']
  if (typeof value !== 'string') return [warningOf('compatibility', 'must be a text')]
  if (value.length <= maxCompatibilityChars) return []
  return [
    warningOf(
      'compatibility',
      `has ${value.length} characters; ${maxCompatibilityChars} are the most that it may have`,
    ),
  ]
}

/** Many skills keep lists and mappings in there for other programs: valid for the reference validator. */
function checkMetadata(value: unknown): readonly SkillDiagnostic[] {
  if (value === undefined || value === null) return []
  const note = (message: string): readonly SkillDiagnostic[] => [
    { severity: 'note', field: 'metadata', message },
  ]
  if (!isMapping(value)) return note('is no mapping of texts: nothing of it is read')
  const others = Object.keys(value).filter((key) => textOf(value[key]) === undefined)
  return others.length === 0
    ? []
    : note(`only texts are read of it, and these are something else: ${others.join(', ')}`)
}

function checkText(fields: Fields, field: string): readonly SkillDiagnostic[] {
  const value = fields[field]
  const isText = value === undefined || value === null || textOf(value) !== undefined
  return isText ? [] : [{ severity: 'note', field, message: 'is no text: it is not read' }]
}

function checkKeys(fields: Fields): readonly SkillDiagnostic[] {
  const known: readonly string[] = knownFields
  return Object.keys(fields)
    .filter((key) => !known.includes(key))
    .map((key) => warningOf(key, 'is no key of the specification: keep it under metadata'))
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The file that is a skill; the others are beside it. */
export const entryFile = 'SKILL.md'

/** The text under the front matter of its SKILL.md. */
export function instructionsOf({ files }: Pick<SkillSource, 'files'>): string {
  const cut = cutFrontMatter(files[entryFile] ?? '')
  return typeof cut === 'string' ? '' : cut.body
}

/** The searchable fields of a skill whose files are at hand. */
export const toSearched = (skill: SkillSource): SearchedSkill => ({
  name: skill.name,
  description: skill.description,
  kind: skill.kind,
  requires: skill.requires,
  ...defined({ tier: skill.tier }),
  text: instructionsOf(skill),
})

/** sha-256 of bytes, as Agent Skills Discovery and SEP-2640 write it: `sha256:` and lowercase hex. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `sha256:${Array.from(hash, (one) => one.toString(16).padStart(2, '0')).join('')}`
}

/** A file larger than this is not read. */
export const maxSkillChars = 256 * 1_024

const kindKey = 'isola-kind'
const requiresKey = 'isola-requires'
const kinds: readonly SkillKind[] = ['skill', 'persona']
/** `tool:sql__query`, or `plugin:http`: anything of that plugin. */
const requirement = /^(?:tool|plugin):[A-Za-z0-9_-]{1,64}$/

/**
 * Reads a SKILL.md as the AgentSkills specification says: skipped only if the front matter cannot be read or says
 * nothing in `description`; whatever else is wrong is said, and the skill is loaded.
 *
 * @param options.folder Name of its folder.
 * @param options.parseYaml Handed in: no code of the Worker's own parses YAML.
 */
export function readSkill(
  given: string,
  { folder, parseYaml }: { readonly folder: string; readonly parseYaml: ParseYaml },
): ReadSkill {
  const text = given.replace(/^\ufeff/, '')
  const marked = warnings(text !== given && 'begins with a byte order mark: save it without one')
  if (text.length > maxSkillChars)
    return failed(`has ${text.length} characters; ${maxSkillChars} are the most that are read`)
  const cut = cutFrontMatter(text)
  if (typeof cut === 'string') return failed(cut)
  let read: ReturnType<typeof readFrontMatter>
  try {
    read = readFrontMatter(cut.yaml, parseYaml)
  } catch (error) {
    return failed(error instanceof Error ? error.message : 'the front matter is no YAML')
  }
  const { value: fields, quoted } = read
  if (!isMapping(fields)) return failed('the front matter must be a mapping: `name: …`')
  const diagnostics = [
    ...marked,
    ...quoted.map((field): SkillDiagnostic => ({
      severity: 'warning',
      field,
      message: 'has a colon and a blank in it and needs quotes; it was read as if it had them',
    })),
    ...checkFields(fields, folder),
  ]
  const description = textOf(fields['description'])
  if (description === undefined)
    return failed('is missing or empty: nobody would know when to use it', 'description')
  const isWritten = quoted.length === 0
  const skill = toSkill({ fields, description, folder, body: cut.body, isWritten })
  return { skill, diagnostics: [...diagnostics, ...checkOwn(skill)] }
}

const failed = (message: string, field?: string): ReadSkill => ({
  diagnostics: [{ severity: 'error', message, ...defined({ field }) }],
})

const warnings = (message: string | false): readonly SkillDiagnostic[] =>
  message === false ? [] : [{ severity: 'warning', message }]

interface Found {
  readonly fields: Readonly<Record<string, unknown>>
  readonly description: string
  readonly folder: string
  readonly body: string
  /** Whether `fields` are what any reader of YAML finds. */
  readonly isWritten: boolean
}

function toSkill({ fields, description, folder, body, isWritten }: Found): SkillText {
  const metadata = toTexts(fields['metadata'])
  const license = textOf(fields['license'])
  const compatibility = textOf(fields['compatibility'])
  const allowedTools = textOf(fields['allowed-tools'])
  return {
    name: (textOf(fields['name']) ?? folder).normalize('NFKC'),
    description,
    kind: metadata[kindKey] === 'persona' ? 'persona' : 'skill',
    requires: requirementsOf(metadata).filter((one) => requirement.test(one)),
    ...defined({ license, compatibility, allowedTools }),
    metadata,
    ...(isWritten && { frontMatter: fields as JsonObject }), // YAML of plain values
    body,
  }
}

function toTexts(value: unknown): Readonly<Record<string, string>> {
  if (!isMapping(value)) return {}
  const texts = Object.entries(value).flatMap(([key, one]) => {
    const text = textOf(one)
    return text === undefined ? [] : [[key, text] as const]
  })
  return Object.fromEntries(texts)
}

const requirementsOf = (metadata: Readonly<Record<string, string>>): readonly string[] =>
  (metadata[requiresKey] ?? '').split(/[\s,]+/).filter((one) => one !== '')

/** Our own metadata keys whose value has no meaning. */
function checkOwn({ metadata }: SkillText): readonly SkillDiagnostic[] {
  const kind = metadata[kindKey]
  const unknown = requirementsOf(metadata).filter((one) => !requirement.test(one))
  const isUnknownKind = kind !== undefined && !kinds.some((one) => one === kind)
  return [
    isUnknownKind &&
      `${kindKey} is ${kind}; it may be ${kinds.join(' or ')}, and is taken for skill`,
    unknown.length > 0 &&
      `${requiresKey} has ${unknown.join(', ')}, which means nothing: write tool:<name> or plugin:<id>`,
  ].flatMap((message) =>
    message === false ? [] : [{ severity: 'note', field: 'metadata', message } as const],
  )
}
