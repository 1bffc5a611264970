import { defined } from '#contracts/defined.ts'
import type { JsonObject } from '#contracts/json.ts'
import type {
  ReadSkill,
  SkillDiagnostic,
  SkillKind,
  SkillText,
} from '#runtime/catalog/types/skill.ts'
import {
  cutFrontMatter,
  readFrontMatter,
  type ParseYaml,
} from '#features/plugins/types/front-matter.ts'
import { checkFields, isMapping, textOf } from './skill-fields.ts'

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
