import type { SkillDiagnostic } from '#runtime/catalog/types/skill.ts'

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

const warning = (field: string, message: string): SkillDiagnostic => ({
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
export function checkFields(fields: Fields, folder: string): readonly SkillDiagnostic[] {
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
    return [warning('name', `is missing: the folder's name, ${folder}, stands for it`)]
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
  ].flatMap((message) => (message === false ? [] : [warning('name', message)]))
}

function checkDescription(value: unknown): readonly SkillDiagnostic[] {
  const chars = typeof value === 'string' ? value.length : 0
  if (chars <= maxDescriptionChars) return []
  return [
    warning(
      'description',
      `has ${chars} characters; ${maxDescriptionChars} are the most that it may have`,
    ),
  ]
}

function checkCompatibility(fields: Fields): readonly SkillDiagnostic[] {
  if (!Object.hasOwn(fields, 'compatibility')) return []
  const value = fields['compatibility']
  if (typeof value !== 'string') return [warning('compatibility', 'must be a text')]
  if (value.length <= maxCompatibilityChars) return []
  return [
    warning(
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
    .map((key) => warning(key, 'is no key of the specification: keep it under metadata'))
}

export const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
