import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { collectVariables } from './template-variables.ts'

type Statement = Parameters<Interpreter['evaluate']>[0]
type Value = ReturnType<Interpreter['evaluate']>

/** A parsed template with the variables it needs. */
export interface StrictTemplate {
  readonly variables: readonly string[]
  /** Throws if anything in it turns out to be undefined. */
  readonly render: (variables: Readonly<Record<string, unknown>>) => string
}

/** Parses Jinja text; throws the engine's error on bad syntax. */
export function parseTemplate(text: string): StrictTemplate {
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
