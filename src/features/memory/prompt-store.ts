import { headOf } from '#contracts/cut.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { PromptStore, PromptTemplate, RenderedPrompt } from './types.ts'
import { parseTemplate, type StrictTemplate } from './strict-template.ts'

const maxTextBytes = 64 * 1024
const charsPerToken = 4

/**
 * Stores prompt templates in memory by id and version (I22, C4). Rendering is strict: each variable of the text must
 * be given, each given value must be used, and an unknown variable never becomes a blank.
 */
export function createPromptStore(): PromptStore {
  /** Versions of an id, in the order they were put. */
  const versions = new Map<string, readonly PromptTemplate[]>()
  const parsed = new Map<PromptTemplate, StrictTemplate>()

  const get = (id: string, version?: string): PromptTemplate | undefined => {
    const known = versions.get(id) ?? []
    return version === undefined
      ? known.at(-1)
      : known.find((template) => template.version === version)
  }

  const put = (template: PromptTemplate): void => {
    const strict = validateTemplate(template)
    const existing = get(template.id, template.version)
    if (existing?.text === template.text) return
    if (existing)
      throw invalid(template, 'is there already with another text; give the new text a new version')
    parsed.set(template, strict)
    versions.set(template.id, [...(versions.get(template.id) ?? []), template])
  }

  const render = (
    id: string,
    variables: Readonly<Record<string, unknown>>,
    version?: string,
  ): RenderedPrompt => {
    const template = get(id, version)
    const strict = template && parsed.get(template)
    if (!template || !strict) {
      throw new IsolaError(
        'plugin_prompt_invalid',
        `prompt "${id}"${version === undefined ? '' : ` ${version}`} is not known`,
      )
    }
    return renderStrictly(template, strict, variables)
  }

  return {
    get,
    put,
    render,
    list: () => [...versions.values()].flat(),
    validate: (template) => void validateTemplate(template),
  }
}

function invalid({ id, version }: PromptTemplate, what: string, cause?: unknown): IsolaError {
  return new IsolaError('plugin_prompt_invalid', `prompt "${id}" ${version}: ${what}`, { cause })
}

function validateTemplate(template: PromptTemplate): StrictTemplate {
  checkSize(template, template.text)
  let strict: StrictTemplate
  try {
    strict = parseTemplate(template.text)
  } catch (error) {
    throw invalid(template, `is not valid Jinja: ${headOf(errorMessage(error), 300)}`, error)
  }
  const unused = template.requiredVars.filter((name) => !strict.variables.includes(name))
  if (unused.length > 0)
    throw invalid(template, `requires variables that its text does not use: ${unused.join(', ')}`)
  return strict
}

function checkSize(template: PromptTemplate, text: string): void {
  const sizeBytes = new TextEncoder().encode(text).byteLength
  if (sizeBytes > maxTextBytes)
    throw invalid(template, `has ${sizeBytes} bytes of text; at most ${maxTextBytes} are allowed`)
}

function renderStrictly(
  template: PromptTemplate,
  strict: StrictTemplate,
  variables: Readonly<Record<string, unknown>>,
): RenderedPrompt {
  const isGiven = (name: string) => Object.hasOwn(variables, name) && variables[name] !== undefined
  const required = template.requiredVars.filter((name) => !isGiven(name))
  if (required.length > 0)
    throw invalid(template, `required variables are missing: ${required.join(', ')}`)
  const unknown = strict.variables.filter((name) => !isGiven(name))
  if (unknown.length > 0)
    throw invalid(template, `the text uses unknown variables: ${unknown.join(', ')}`)
  const undeclared = Object.keys(variables).filter((name) => !strict.variables.includes(name))
  if (undeclared.length > 0)
    throw invalid(
      template,
      `variables are given that the text does not use: ${undeclared.join(', ')}`,
    )
  const text = renderText(template, strict, variables)
  checkSize(template, text)
  return {
    text,
    template: template.id,
    version: template.version,
    estimatedTokens: Math.ceil(text.length / charsPerToken),
  }
}

function renderText(
  template: PromptTemplate,
  strict: StrictTemplate,
  variables: Readonly<Record<string, unknown>>,
): string {
  try {
    return strict.render(variables)
  } catch (error) {
    throw invalid(template, `could not be rendered: ${headOf(errorMessage(error), 300)}`, error)
  }
}
