import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { draftFields, type DraftText } from '#runtime/catalog/types/skill-catalog.ts'
import { hasHiddenInLine } from '#features/plugins/types/visible-text.ts'
import { readBundle, type ReadBundleDeps } from '../admission/read-bundle.ts'
import { entryFile } from '../read-skill.ts'

const maxInstructionsChars = 20_000
const maxFiles = 8
const maxFileChars = 20_000
const maxAllChars = 60_000
const maxPathChars = 100
/** Folders and a name, each beginning with a letter or a digit: no way out, nothing hidden. */
const filePath = /^(?:[A-Za-z0-9][\w.-]*\/){0,3}[A-Za-z0-9][\w.-]*$/

/** An agent's text, parsed and without secrets. */
interface GivenSkill {
  readonly name: string
  readonly description: string
  readonly instructions: string
  readonly files: Readonly<Record<string, string>>
}

/** A skill as it would be installed, with the words by which it is compared. */
interface WrittenSkill {
  readonly text: DraftText
  readonly words: string
}

/** @param takeOut Takes secrets out of a text. */
export function readGiven(
  { name, description, instructions, files }: JsonObject,
  takeOut: (text: string) => string,
): GivenSkill {
  const clean = (value: Json | undefined) => takeOut(typeof value === 'string' ? value : '').trim()
  const others = Object.entries(Object(files) as Readonly<Record<string, Json>>)
  return {
    name: clean(name),
    description: clean(description),
    instructions: clean(instructions),
    files: Object.fromEntries(others.map(([path, text]) => [clean(path), clean(text)])),
  }
}

/**
 * A skill from an agent's text, checked like an installed skill, and without a single warning.
 *
 * @param tools The tools that its run called: the skill requires those of them that its text names.
 * @returns A text if the agent has to change something: it says what.
 */
export function toWrittenSkill(
  given: GivenSkill,
  tools: readonly string[],
  deps: ReadBundleDeps,
): WrittenSkill | string {
  const { name, description, instructions } = given
  const wrong = whatIsWrong(given)
  if (wrong !== undefined) return wrong
  const words = [description, instructions, ...Object.values(given.files)].join('\n')
  const requires = tools.filter((tool) => isNamedIn(words, tool)).map((tool) => `tool:${tool}`)
  const fields = draftFields({ name, description, requires })
  const files = { ...given.files, [entryFile]: `---\n${toYaml(fields)}---\n\n${instructions}\n` }
  try {
    const { version, notes } = readBundle({ folder: name, bundle: { fields, files } }, deps)
    if (notes[0] !== undefined) return `${notes[0]}.`
    return { text: { name, description, requires, hash: version.hash, files }, words }
  } catch (error) {
    if (errorCode(error) !== 'plugin_upload_invalid') throw error
    return errorMessage(error)
  }
}

/** Rules for drafts alone: they are smaller, and a text that could never be installed is refused. */
function whatIsWrong({ name, description, instructions, files }: GivenSkill): string | undefined {
  const paths = Object.keys(files)
  const texts = Object.values(files)
  const badPath = paths.find((path) => path.length > maxPathChars || !filePath.test(path))
  const sum = [instructions, ...texts].reduce((chars, text) => chars + text.length, 0)
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    return 'name: must be lowercase words (a to z, digits) joined by single hyphens.'
  if (hasHiddenInLine(description))
    return 'description: must be one line, without characters that nobody can see.'
  if (instructions === '') return 'instructions: are empty. Say step by step how the task is done.'
  if (instructions.length > maxInstructionsChars)
    return (
      `instructions: have ${instructions.length} characters; ${maxInstructionsChars} are the most. Put ` +
      'details into files.'
    )
  if (paths.length > maxFiles) return `files: ${maxFiles} are the most.`
  if (badPath !== undefined)
    return 'files: a path must be letters, digits, dots, hyphens and underscores, such as references/fields.md.'
  if (paths.some((path) => path.toLowerCase() === entryFile.toLowerCase()))
    return `files: ${entryFile} is made of name, description and instructions; leave it out.`
  if (texts.some((text) => text === '' || text.length > maxFileChars))
    return `files: each must have 1 to ${maxFileChars} characters.`
  if (sum > maxAllChars) return `files: ${sum} characters in all; ${maxAllChars} are the most.`
  return undefined
}

/** A quoted JSON string is valid YAML, too. */
const toYaml = ({ metadata, ...fields }: ReturnType<typeof draftFields>): string =>
  [
    ...Object.entries(fields).map(([key, text]) => `${key}: ${JSON.stringify(text)}\n`),
    ...Object.entries(metadata ?? {}).map(
      ([key, text]) => `metadata:\n  ${key}: ${JSON.stringify(text)}\n`,
    ),
  ].join('')

/** As a whole word: `sql__query` is not named by `sql__query_all`. */
const isNamedIn = (text: string, tool: string): boolean =>
  text.split(/[^A-Za-z0-9_-]+/).includes(tool)
