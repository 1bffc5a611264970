import { Template, Environment, Interpreter } from '@huggingface/jinja'
import { headOf } from '#contracts/cut.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { PromptStore, PromptTemplate, RenderedPrompt } from './types.ts'

type Node = Readonly<Record<string, unknown>> & { readonly type: string }

const globals: ReadonlySet<string> = new Set([
  'true',
  'false',
  'none',
  'True',
  'False',
  'None',
  'namespace',
])

/**
 * The names a template takes from outside, in order of first use: identifiers that it does not bind itself by
 * `set`, `for` or `macro`. Filters, tests, attributes and keyword names are not variables.
 */
function collectVariables(program: Template['parsed']): readonly string[] {
  const free = new Set<string>()
  walkAll(program.body, new Set(globals), free)
  return [...free]
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

function walkAll(values: unknown, bound: Set<string>, free: Set<string>): void {
  for (const value of Array.isArray(values) ? values : [values]) {
    if (value instanceof Map) for (const pair of value) walkAll(pair, bound, free)
    else if (isNode(value)) walk(value, bound, free)
  }
}

/** `bound` is added to by `set`, as the engine does; a loop's or macro's own names stay inside it. */
function walk(node: Node, bound: Set<string>, free: Set<string>): void {
  switch (node.type) {
    case 'Identifier':
      if (typeof node.value === 'string' && !bound.has(node.value)) free.add(node.value)
      return
    case 'Set':
      walkAll([node.value, node.body], bound, free)
      bindNames(node.assignee, bound)
      return
    case 'For':
      return walkFor(node, bound, free)
    case 'Macro':
      bindNames(node.name, bound)
      return walkBody(node, node.args, new Set([...bound, 'caller', 'varargs', 'kwargs']), free)
    case 'CallStatement':
      walkAll(node.call, bound, free)
      return walkBody(node, node.callerArgs, new Set(bound), free)
    case 'FilterExpression':
    case 'FilterStatement':
      walkAll([node.operand, node.body].flat(), bound, free)
      return walkFilter(node.filter, bound, free)
    case 'TestExpression':
      return walkAll(node.operand, bound, free)
    case 'KeywordArgumentExpression':
      return walkAll(node.value, bound, free)
    case 'MemberExpression':
      walkAll(node.object, bound, free)
      if (node.computed === true) walkAll(node.property, bound, free)
      return
    default:
      for (const [key, child] of Object.entries(node))
        if (key !== 'type') walkAll(child, bound, free)
  }
}

function walkFor(node: Node, bound: Set<string>, free: Set<string>): void {
  const inside = new Set([...bound, 'loop'])
  bindNames(node.loopvar, inside)
  const { iterable } = node
  if (isNode(iterable) && iterable.type === 'SelectExpression') {
    walkAll(iterable.lhs, bound, free)
    walkAll(iterable.test, inside, free)
  } else walkAll(iterable, bound, free)
  walkAll(node.body, inside, free)
  walkAll(node.defaultBlock, new Set(bound), free)
}

/** A macro's or call block's parameters: defaults are read outside, names bound inside. */
function walkBody(node: Node, parameters: unknown, inside: Set<string>, free: Set<string>): void {
  for (const parameter of Array.isArray(parameters) ? parameters : []) {
    if (!isNode(parameter)) continue
    if (parameter.type === 'KeywordArgumentExpression') {
      walkAll(parameter.value, inside, free)
      bindNames(parameter.key, inside)
    } else bindNames(parameter, inside)
  }
  walkAll(node.body, inside, free)
}

function walkFilter(filter: unknown, bound: Set<string>, free: Set<string>): void {
  if (isNode(filter) && filter.type === 'CallExpression') walkAll(filter.args, bound, free)
}

function bindNames(target: unknown, bound: Set<string>): void {
  if (!isNode(target)) return
  if (target.type === 'Identifier' && typeof target.value === 'string') bound.add(target.value)
  if (target.type === 'TupleLiteral' && Array.isArray(target.value))
    for (const part of target.value) bindNames(part, bound)
}

type Statement = Parameters<Interpreter['evaluate']>[0]
type Value = ReturnType<Interpreter['evaluate']>

/** A parsed template with the variables it needs. */
interface StrictTemplate {
  readonly variables: readonly string[]
  /** Throws if anything in it turns out to be undefined. */
  readonly render: (variables: Readonly<Record<string, unknown>>) => string
}

/** Parses Jinja text; throws the engine's error on bad syntax. */
function parseTemplate(text: string): StrictTemplate {
  const { parsed } = new Template(text)
  return {
    variables: collectVariables(parsed),
    render: (variables) =>
      String(new StrictInterpreter(createEnvironment(variables)).run(parsed).value),
  }
}

/** Without the engine's `range` (unbounded work) and `strftime_now` (reads the clock). */
function createEnvironment(variables: Readonly<Record<string, unknown>>): Environment {
  const environment = new Environment()
  for (const name of ['true', 'True']) environment.set(name, true)
  for (const name of ['false', 'False']) environment.set(name, false)
  for (const name of ['none', 'None']) environment.set(name, null)
  for (const [name, value] of Object.entries(variables)) environment.set(name, value)
  return environment
}

/** More than any prompt needs: loops in loops, and texts that double, are stopped there. */
const maxSteps = 100_000
const maxValueChars = 1_000_000
const maxEntries = 100_000

/** The engine renders what it does not know as nothing; here that is an error. Its work is bounded. */
class StrictInterpreter extends Interpreter {
  #steps = 0

  override evaluate(statement: Statement, environment: Environment): Value {
    this.#steps += 1
    if (this.#steps > maxSteps)
      throw new Error(`it takes more than ${maxSteps} steps: make its loops shorter`)
    const value = super.evaluate(statement, environment)
    if (value.type === 'UndefinedValue') throw new Error(`${describe(statement)} is not defined`)
    const { value: said }: { readonly value: unknown } = value
    if (typeof said === 'string' && said.length > maxValueChars)
      throw new Error(`a text in it becomes longer than ${maxValueChars} characters`)
    if (Array.isArray(said) && said.length > maxEntries)
      throw new Error(`a list in it has more than ${maxEntries} entries`)
    return value
  }
}

/** The expression as the text has it (`user.name`), as far as it consists of names. */
function describe(node: unknown): string {
  if (typeof node !== 'object' || node === null || !('type' in node)) return 'an expression'
  if (node.type === 'Identifier' && 'value' in node) return String(node.value)
  if (
    node.type === 'MemberExpression' &&
    'object' in node &&
    'property' in node &&
    'computed' in node
  ) {
    return node.computed === true
      ? `${describe(node.object)}[…]`
      : `${describe(node.object)}.${describe(node.property)}`
  }
  return 'an expression'
}

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
