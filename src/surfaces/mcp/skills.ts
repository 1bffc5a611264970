import { invalidParams } from './older-clients.ts'
import {
  type GetPromptResult,
  type ReadResourceResult,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import { joinLabels } from '#contracts/label.ts'
import {
  labelOfSkill,
  type OutgoingFile,
  type OutgoingSkill,
} from '#runtime/catalog/types/skill.ts'
import type { McpRequest } from './mcp-call.ts'
import type { Inventory } from './offered.ts'

/** The extension's name among capabilities: SEP-2640. */
export const skillsExtension = 'io.modelcontextprotocol/skills'
const scheme = 'skill://'
const directoryType = 'inode/directory'

type Asked = Pick<McpRequest, 'deps' | 'caller'>

/** The parameters of the methods. Not zod's, which would have to write JSON Schema to be such a schema. */
export const skillParams: StandardSchemaV1<
  unknown,
  { readonly uri: string; readonly cursor: string | undefined }
> = {
  '~standard': {
    version: 1,
    vendor: 'isola',
    validate(given) {
      const { uri = '', cursor } = Object(given)
      const areTexts = typeof uri === 'string' && ['string', 'undefined'].includes(typeof cursor)
      return areTexts ? { value: { uri, cursor } } : { issues: [{ message: 'must be texts' }] }
    },
  },
}

/** The template of files beside a SKILL.md, which are in no list. */
export const skillFileTemplate = {
  uriTemplate: `${scheme}{skill}/{+path}`,
  name: 'skill-file',
  description: 'A file of one of the skills; its SKILL.md says which it has.',
}

/** Each segment as a URI wants it: names of files are their authors'. */
const uriOf = ({ name }: OutgoingSkill, path: string): string =>
  `${scheme}${[name, ...path.split('/')].map(encodeURIComponent).join('/')}`

const entryUri = (skill: OutgoingSkill): string => uriOf(skill, 'SKILL.md')

/** Whether a URI belongs to a skill that we offer: no plugin's resource goes by it. */
export const isOfSkill = ({ skills }: Pick<Inventory, 'skills'>, uri: string): boolean =>
  nameIn(skills, uri) !== undefined

/** The skill that a URI is of, by its first segment, which knows no case as a host knows none. */
function nameIn(names: readonly string[], uri: string): string | undefined {
  const [, first] = /^skill:\/\/([^/?#]*)/i.exec(uri) ?? []
  return names.find((name) => name === first?.toLowerCase())
}

/** Notes the label before the client receives the skill: its later calls carry that label. */
async function told({ deps, caller }: Asked, ...skills: readonly OutgoingSkill[]): Promise<void> {
  const labels = skills.filter(({ tier }) => tier === 'community').map(labelOfSkill)
  if (labels.length > 0) await deps.toldClients.tell(caller.asker, joinLabels(labels))
}

/** All that the caller is offered, which a list tells it about. */
async function skillsFor(asked: Asked): Promise<readonly OutgoingSkill[]> {
  const { deps, caller } = asked
  const names = caller.inventory.skills
  if (names.length === 0) return []
  const { skills } = await deps.skills.outgoing(names)
  await told(asked, ...skills)
  return skills
}

/** The skill of a URI; `undefined` if the caller has no such skill. */
async function skillAt({ deps, caller }: Asked, uri: string): Promise<OutgoingSkill | undefined> {
  const name = nameIn(caller.inventory.skills, uri)
  return name === undefined ? undefined : (await deps.skills.outgoing([name])).skills[0]
}

/** `skills/list`: every one with its files and their digests. */
export const listSkills = async (asked: Asked) => ({
  skills: (await skillsFor(asked)).map(toEntry),
})

/** `skills/get`: a skill by the URI of its SKILL.md. */
export async function getSkill(asked: Asked, uri: string) {
  const skill = await skillAt(asked, uri)
  if (!skill || entryUri(skill) !== uri) throw invalidParams('uri: there is no such skill.')
  await told(asked, skill)
  return { skill: toEntry(skill) }
}

const toEntry = (skill: OutgoingSkill) => ({
  uri: entryUri(skill),
  frontmatter: skill.frontMatter,
  resources: skill.files.map(({ path, digest, sizeBytes }) => ({
    uri: uriOf(skill, path),
    digest,
    size: sizeBytes,
  })),
})

/** The SKILL.md of each, as resources. */
export const listSkillResources = async (asked: Asked) =>
  (await skillsFor(asked)).map((skill) => ({
    uri: entryUri(skill),
    name: skill.name,
    description: skill.description,
    mimeType: 'text/markdown',
  }))

/** A file by its URI, byte for byte; `undefined` if it belongs to no skill. */
export async function readSkillFile(
  asked: Asked,
  uri: string,
): Promise<ReadResourceResult | undefined> {
  const skill = await skillAt(asked, uri)
  const file = skill?.files.find(({ path }) => uriOf(skill, path) === uri)
  if (!skill || !file) return undefined
  await told(asked, skill)
  return { contents: [{ uri, mimeType: file.mimeType, text: file.text }] }
}

/** `resources/directory/read`: the direct entries of a skill's folder. */
export async function readSkillFolder(asked: Asked, uri: string) {
  const skill = await skillAt(asked, uri)
  const within = skill?.files.filter(({ path }) => uriOf(skill, path).startsWith(`${uri}/`)) ?? []
  if (!skill || within.length === 0) throw invalidParams('uri: there is no such folder.')
  await told(asked, skill)
  const children = within.map((file) => toChild(skill, file, uri))
  return { resources: [...new Map(children.map((one) => [one.uri, one])).values()] }
}

function toChild(skill: OutgoingSkill, { path, mimeType }: OutgoingFile, folder: string) {
  const [segment = '', ...deeper] = uriOf(skill, path)
    .slice(folder.length + 1)
    .split('/')
  const about = { uri: `${folder}/${segment}`, name: decodeURIComponent(segment) }
  return { ...about, mimeType: deeper.length > 0 ? directoryType : mimeType }
}

/** Each as a prompt of its name, which no owner's has: these have two underscores. */
export const listSkillPrompts = async (asked: Asked) =>
  (await skillsFor(asked)).map(({ name, description }) => ({
    name,
    description,
    arguments: [{ name: 'task', description: 'What is to be done that way.', required: false }],
  }))

/** `prompts/get` of a skill: its SKILL.md, the place of its files, and the task. */
export async function getSkillPrompt(
  asked: Asked,
  name: string,
  task: string | undefined,
): Promise<GetPromptResult | undefined> {
  const skill = await skillAt(asked, `${scheme}${name}`)
  const [entry, ...others] = skill?.name === name ? skill.files : []
  if (!skill || !entry) return undefined
  await told(asked, skill)
  const files = others.map(({ path }) => uriOf(skill, path)).join('\n')
  const text = [
    `Follow this skill.\n\n${entry.text.trim()}`,
    files && `Its other files are resources:\n${files}`,
    task && `What is to be done: ${task}`,
  ]
  const message = { type: 'text' as const, text: text.filter(Boolean).join('\n\n---\n\n') }
  return { description: skill.description, messages: [{ role: 'user', content: message }] }
}
